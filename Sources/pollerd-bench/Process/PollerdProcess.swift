import AsyncHTTPClient
import ChildPrograms
import Foundation
import NIOCore
import NIOHTTP1

/// A `pollerd` of one role in a separate process, as users run it, in the namespace of the measurements.
///
/// Its cost is read from the system and its work from its metrics, so neither includes the measuring program. It is a
/// class because it owns the process.
final class PollerdProcess: Sendable {
    /// The timeout of a start: connecting to Redis, loading scripts and binding, on a busy machine.
    private static let startTimeout = Duration.seconds(30)
    /// The timeout of a stop.
    ///
    /// Little work is running, and the rest is discarded with the database.
    private static let stopTimeout = Duration.seconds(10)

    let pid: Int32
    /// The lines printed during the start.
    private let startOutput: String
    private let process: ChildProcess

    /// Starts a role and returns when it is ready.
    ///
    /// - Parameters:
    ///   - role: `api`, `worker` or `notifier`.
    ///   - redisURL: The database of the measurements.
    ///   - options: Options in addition to those of every measured process.
    ///   - authority: The only certificate that the process trusts.
    /// - Throws: ``ProgramError`` if it does not start.
    init(
        _ role: String,
        redisURL: String,
        environment options: [String: String] = [:],
        trusting authority: TrustedAuthority? = nil
    ) throws {
        var environment = ProcessInfo.processInfo.environment.filter {
            !$0.key.hasPrefix("POLLER_") && !$0.key.hasPrefix("STRIPE_")
        }
        environment["POLLER_REDIS_URL"] = redisURL
        environment["POLLER_NAMESPACE"] = BenchStore.namespace
        environment["POLLER_ADMIN_BIND"] = "127.0.0.1:0"
        environment["POLLER_LOG_LEVEL"] = "error"
        environment.merge(options) { $1 }
        let command = [try Programs.locate("pollerd"), role]
        let words = authority?.command(for: command) ?? command
        process = try ChildProcess(
            words[0],
            Array(words.dropFirst()),
            environment: environment
        )
        guard let startOutput = process.output(until: "pollerd ready", within: Self.startTimeout)
        else {
            throw ProgramError("the \(role) to be measured did not start")
        }
        self.startOutput = startOutput
        pid = process.pid
    }

    /// Ends it as an operator would.
    func stop() { process.stop(within: Self.stopTimeout) }

    /// Kills it (`kill -9`).
    func kill() { process.kill() }

    func metrics() async throws -> ProcessMetrics {
        guard let url = startOutput.firstMatch(of: #/admin listening on (\S+)/#)?.1 else {
            throw BenchError("the measured process did not print the address of its metrics")
        }
        return ProcessMetrics(try await BenchRequest.text("\(url)/metrics"))
    }

    /// Returns the CPU seconds of all its threads so far, user and system.
    func cpuSeconds() throws -> Double { try ProcessCPU.seconds(of: pid) }

    /// Returns a value of `/proc/PID/status` in KiB: `VmRSS`, or `RssAnon` for its private memory.
    func residentKiB(_ name: String = "VmRSS") throws -> Double {
        let path = "/proc/\(pid)/status"
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw BenchError("memory can be measured on Linux only")
        }
        let line = text.split(separator: "\n").first { $0.hasPrefix("\(name):") }
        guard let kib = line?.split(whereSeparator: \.isWhitespace).dropFirst().first,
            let value = Double(kib)
        else { throw BenchError("\(path) has no \(name)") }
        return value
    }
}

/// A certificate that a process trusts as its only authority.
///
/// A worker trusts the authorities of its system, as in production. So it is started in a separate mount namespace with
/// this certificate in place of the system's file. The rest of the machine is unaffected.
struct TrustedAuthority: Sendable {
    /// The authority files of Linux distributions (Debian, Fedora).
    private static let systemFiles = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
    ]

    /// The certificate's file.
    let file: String
    private let unshare: String
    private let systemFile: String

    /// Returns `nil` if a process cannot have separate authorities.
    init?(file: String) {
        guard let unshare = Programs.installed("unshare"),
            let systemFile = Self.systemFiles.first(where: FileManager.default.fileExists)
        else { return nil }
        self.unshare = unshare
        self.file = file
        self.systemFile = systemFile
    }

    /// Returns the command to run with this authority.
    ///
    /// The process keeps its id.
    func command(for words: [String]) -> [String] {
        // Without root, the mount needs a user namespace in which the process is root.
        let flag = getuid() == 0 ? "-m" : "-rm"
        let script = "mount --bind \"$1\" \"$2\" && shift 2 && exec \"$@\""
        return [unshare, flag, "/bin/sh", "-c", script, "sh", file, systemFile] + words
    }
}

/// Requests of the measuring program, which are not measured.
enum BenchRequest {
    /// Sends a GET and returns the body of the response.
    static func text(_ url: String) async throws -> String {
        let response = try await HTTPClient.shared.execute(
            HTTPClientRequest(url: url),
            timeout: .seconds(8)
        )
        let body = try await response.body.collect(upTo: 16 << 20)
        guard response.status == .ok else {
            throw BenchError("\(url) answered \(response.status.code)")
        }
        return String(buffer: body)
    }
}

extension ProcessCPU {
    /// Returns the CPU seconds of another process so far, for all threads including ended ones.
    ///
    /// The CPU clock (clock_getcpuclockid(3)) gives in nanoseconds the sum that `/proc/PID/stat` rounds to hundredths
    /// of a second. At 100 polls a second that rounding would be a tenth of the result.
    static func seconds(of pid: Int32) throws -> Double {
        #if canImport(Glibc)
        var clock = clockid_t()
        var time = timespec()
        guard unsafe clock_getcpuclockid(pid, &clock) == 0,
            unsafe clock_gettime(clock, &time) == 0
        else { throw BenchError("the measured process \(pid) has ended") }
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        #else
        throw BenchError("the CPU of another process can be measured on Linux only")
        #endif
    }
}
