#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The standard process metrics, with the names of Prometheus' own client libraries.
///
/// The values are read at each scrape, so they are current. Custom code, because swift-system-metrics sets its gauges
/// only periodically. Without `/proc`, the metrics that need it are left out.
package enum ProcessMetrics {
    /// The metrics in text format, with their types.
    package static var text: String {
        var text = ""
        func add(_ name: String, _ kind: Metric.Kind, _ help: String, _ value: Double?) {
            guard let value else { return }
            text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
            text += "\(name) \(PrometheusText.number(value))\n"
        }
        add(
            "process_cpu_seconds_total",
            .counter,
            "Total user and system CPU time spent in seconds.",
            cpuSeconds
        )
        add("process_open_fds", .gauge, "Number of open file descriptors.", openFiles)
        add("process_max_fds", .gauge, "Maximum number of open file descriptors.", filesMax)
        let memory = statm
        let page = Double(sysconf(Int32(clamping: _SC_PAGESIZE)))
        add(
            "process_virtual_memory_bytes",
            .gauge,
            "Virtual memory size in bytes.",
            memory.map { $0.pages * page }
        )
        add(
            "process_resident_memory_bytes",
            .gauge,
            "Resident memory size in bytes.",
            memory.map { $0.resident * page }
        )
        add(
            "process_start_time_seconds",
            .gauge,
            "Start time of the process since unix epoch in seconds.",
            startTime
        )
        return text
    }

    private static var cpuSeconds: Double? {
        var usage = rusage()
        #if canImport(Glibc)
        let who = RUSAGE_SELF.rawValue
        #else
        let who = RUSAGE_SELF
        #endif
        guard unsafe getrusage(Int32(truncatingIfNeeded: who), &usage) == 0 else { return nil }
        func seconds(_ time: timeval) -> Double {
            Double(time.tv_sec) + Double(time.tv_usec) / 1_000_000
        }
        return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }

    private static var openFiles: Double? {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")).map {
            // Excludes the descriptor that the listing itself uses.
            Double(max($0.count - 1, 0))
        }
    }

    private static var filesMax: Double? {
        var limit = rlimit()
        #if canImport(Glibc)
        let resource = Int32(clamping: RLIMIT_NOFILE.rawValue)
        #else
        let resource = RLIMIT_NOFILE
        #endif
        guard unsafe getrlimit(resource, &limit) == 0 else { return nil }
        return Double(limit.rlim_cur)
    }

    private static var statm: (pages: Double, resident: Double)? {
        let numbers = contents("/proc/self/statm")?.split(separator: " ").prefix(2).compactMap {
            Double($0)
        }
        guard let numbers, numbers.count == 2, let pages = numbers.first,
            let resident = numbers.last
        else { return nil }
        return (pages, resident)
    }

    /// The boot time of the machine plus the start of this process after it.
    private static let startTime: Double? = {
        // The fields after the name in parentheses, which may contain anything. The 20th is in clock ticks.
        guard let stat = contents("/proc/self/stat"), let end = stat.lastIndex(of: ")"),
            let boot = contents("/proc/stat")?.split(separator: "\n")
                .first(where: { $0.hasPrefix("btime ") }).flatMap({ Double($0.dropFirst(6)) })
        else { return nil }
        let fields = stat[end...].split(separator: " ")
        guard let ticks = fields.dropFirst(20).first.flatMap({ Double($0) }) else { return nil }
        return boot + ticks / Double(sysconf(Int32(clamping: _SC_CLK_TCK)))
    }()

    private static func contents(_ path: String) -> String? {
        // A file that cannot be read leaves its metrics out.
        (try? Data(contentsOf: URL(fileURLWithPath: path))).map {
            String(decoding: $0, as: UTF8.self)
        }
    }
}
