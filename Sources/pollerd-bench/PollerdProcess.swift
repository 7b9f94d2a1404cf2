import AsyncHTTPClient
import ChildPrograms
import Foundation
import NIOCore
import NIOHTTP1

/// A `pollerd` of one role in a process of its own, as users run it; it works in the namespace of the measurements.
///
/// What it costs is read from the system and what it did from its own metrics, so nothing of the measuring program is
/// in either. A class, because it owns the process.
final class PollerdProcess: Sendable {
    /// Connecting to Redis, loading scripts and binding take a moment; a busy machine takes its time.
    private static let startTimeout = Duration.seconds(30)
    /// Running work is little, and what is left is thrown away with the database.
    private static let stopTimeout = Duration.seconds(10)

    let pid: Int32
    /// The lines it printed while it started.
    private let said: String
    private let process: ChildProcess

    /// Starts a role and returns when it says that it is ready.
    ///
    /// - Parameters:
    ///   - role: `api`, `worker` or `notifier`.
    ///   - redisURL: The database of the measurements.
    ///   - options: Options beside those that every measured process has.
    ///   - authority: Starts the process where this is the only certificate the system trusts.
    /// - Throws: ``ProgramError`` when it does not start.
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
        guard let said = process.output(until: "pollerd ready", within: Self.startTimeout) else {
            throw ProgramError("the \(role) to be measured did not start")
        }
        self.said = said
        pid = process.pid
    }

    /// Ends it as an operator would.
    func stop() { process.stop(within: Self.stopTimeout) }

    /// Kills it (`kill -9`).
    func kill() { process.kill() }

    /// What it has counted so far.
    func metrics() async throws -> ProcessMetrics {
        guard let url = said.firstMatch(of: #/admin listening on (\S+)/#)?.1 else {
            throw BenchError("the measured process has not said where its metrics are")
        }
        return ProcessMetrics(try await BenchRequest.text("\(url)/metrics"))
    }

    /// CPU seconds of all its threads so far, user and system.
    func cpuSeconds() throws -> Double { try ProcessCPU.seconds(of: pid) }

    /// A line of `/proc/PID/status`, in KiB: `VmRSS`, or `RssAnon` for its own memory alone.
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

/// A certificate for a process that is to trust it, and nothing else.
///
/// A worker believes the authorities of its system, as in production. So it is started in a mount namespace of its own,
/// where the file of those authorities is ours; the rest of the machine sees nothing of it.
struct TrustedAuthority: Sendable {
    /// Where Linux distributions keep the authorities (Debian's, Fedora's).
    private static let systemFiles = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
    ]

    /// The certificate's file.
    let file: String
    private let unshare: String
    private let systemFile: String

    /// Nil where a process cannot be given authorities of its own.
    init?(file: String) {
        guard let unshare = Programs.installed("unshare"),
            let systemFile = Self.systemFiles.first(where: FileManager.default.fileExists)
        else { return nil }
        self.unshare = unshare
        self.file = file
        self.systemFile = systemFile
    }

    /// The same command under this authority; the process keeps its id.
    func command(for words: [String]) -> [String] {
        // Who is not root becomes it in a namespace of users, just for the mount.
        let flag = getuid() == 0 ? "-m" : "-rm"
        let script = "mount --bind \"$1\" \"$2\" && shift 2 && exec \"$@\""
        return [unshare, flag, "/bin/sh", "-c", script, "sh", file, systemFile] + words
    }
}

/// A request of the measuring program itself; no measured one.
enum BenchRequest {
    /// Sends a GET and returns the body of the answer.
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
    /// CPU seconds of another process so far, all threads, those that have ended too.
    ///
    /// Its CPU clock (clock_getcpuclockid(3)) is the sum that `/proc/PID/stat` rounds to hundredths of a second, to the
    /// nanosecond: at 100 polls a second that rounding would be a tenth of the result.
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
