import BenchPlan
import ChildPrograms

/// Measures a GET of the same response by clients that do nothing else: the lower bound for every poll, also at a pace.
///
/// The clients are the cluster's and installed ones. Their CPU is the system's count of their process, and their
/// requests are counted by nginx, as for a worker.
struct ClientFloor: Sendable {
    /// A client: its name in the JSON, its file, which is `nil` if it is not installed, its arguments before the URL.
    private typealias Client = (
        name: String, title: String, program: String?, arguments: [String], isTLS: Bool
    )

    /// Connections with one request at a time, about as many as a busy worker has.
    private static let connections = "64"

    let plan: BenchPlan
    let server: NginxServer

    /// Measures every installed client.
    func measure() async throws -> BenchReport {
        var report = BenchReport()
        for client in clients {
            guard let program = client.program else {
                report.note(client.title, "not installed")
                continue
            }
            guard let base = client.isTLS ? server.secured?.url : server.url else { continue }
            if let figures = try await measure(client, program, base) {
                report.add(client.name, figures)
            } else {
                report.note(client.title, "sends nothing")
            }
        }
        return report
    }

    private var clients: [Client] {
        let seconds = String(plan.span.components.seconds + 2)
        let wrk = ["-t", "1", "-c", Self.connections, "-d", "\(seconds)s"]
        let h2load = ["-t", "1", "-c", "1", "-m", Self.connections, "-D", seconds]
        let own = ["client", "--connections", Self.connections, "--seconds", seconds]
        let trust = server.secured.map { ["--trust", $0.authority.file] } ?? []
        // One connection, because its requests are never late.
        let paced = ["--h1", "-t", "1", "-c", "1", "-D", seconds, "--rps"]
        // The program is in the same folder as this one.
        let ownProgram = try? Programs.locate("pollerd-bench")
        let (wrkProgram, h2loadProgram) = (Programs.installed("wrk"), Programs.installed("h2load"))
        return [
            ("own", "GETs of our client, HTTP", ownProgram, own, false),
            ("own_tls", "GETs of our client, TLS", ownProgram, own + trust, true),
            ("wrk", "GETs of wrk, HTTP", wrkProgram, wrk, false),
            ("wrk_tls", "GETs of wrk, TLS", wrkProgram, wrk, true),
            ("h2load", "GETs of h2load, HTTP/2 over TLS", h2loadProgram, h2load, true),
            ("paced_100", "100 GETs/s of h2load, HTTP", h2loadProgram, paced + ["100"], false),
            ("paced_1000", "1,000 GETs/s of h2load, HTTP", h2loadProgram, paced + ["1000"], false),
        ]
    }

    /// Measures a client in the middle of its run, or returns `nil` if it sends nothing.
    private func measure(
        _ client: Client,
        _ program: String,
        _ base: String
    ) async throws -> BenchReport? {
        let url = "\(base)/v1/sources/src_1xxxxxxxxxxxxxxxxxxxxxxx1"
        let process = try ChildProcess(program, client.arguments + [url])
        defer { process.kill() }
        let clock = ContinuousClock()
        try await clock.sleep(for: .seconds(1))
        if process.hasDied { return nil }
        let (requests, cpu) = (try await server.requests(), try ProcessCPU.seconds(of: process.pid))
        let began = clock.now
        try await clock.sleep(for: plan.span)
        let count = Double(try await server.requests() - requests)
        guard count > 0, !process.hasDied else { return nil }
        let spent = try ProcessCPU.seconds(of: process.pid) - cpu
        var report = BenchReport()
        let seconds = began.duration(to: clock.now) / .seconds(1)
        report.add(client.title, "per_s", count / seconds, "/s")
        report.add("  CPU a GET", "cpu_us", cpu: spent / count)
        return report
    }
}
