import BenchPlan
import ChildPrograms

/// Measures a GET of the same response by clients that do nothing else: the lower bound for every poll, also at a pace.
///
/// The clients are the cluster's and installed ones. Their CPU is the system's count of their process, and their
/// requests are counted by nginx, as for a worker.
struct ClientFloor: Sendable {
    /// A client, with its name in the JSON and its arguments before the URL.
    private struct Client: Sendable {
        let name: String
        let title: String
        /// The program's file, or `nil` if it is not installed.
        let program: String?
        let arguments: [String]
        var isTLS = false
    }

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
            Client(
                name: "own",
                title: "GETs of our client, HTTP",
                program: ownProgram,
                arguments: own
            ),
            Client(
                name: "own_tls",
                title: "GETs of our client, TLS",
                program: ownProgram,
                arguments: own + trust,
                isTLS: true
            ),
            Client(name: "wrk", title: "GETs of wrk, HTTP", program: wrkProgram, arguments: wrk),
            Client(
                name: "wrk_tls",
                title: "GETs of wrk, TLS",
                program: wrkProgram,
                arguments: wrk,
                isTLS: true
            ),
            Client(
                name: "h2load",
                title: "GETs of h2load, HTTP/2 over TLS",
                program: h2loadProgram,
                arguments: h2load,
                isTLS: true
            ),
            Client(
                name: "paced_100",
                title: "100 GETs/s of h2load, HTTP",
                program: h2loadProgram,
                arguments: paced + ["100"]
            ),
            Client(
                name: "paced_1000",
                title: "1,000 GETs/s of h2load, HTTP",
                program: h2loadProgram,
                arguments: paced + ["1000"]
            ),
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
        report.add(
            client.title,
            "per_s",
            count / (began.duration(to: clock.now) / .seconds(1)),
            "/s"
        )
        report.add("  CPU a GET", "cpu_us", spent / count * 1e6, "µs")
        return report
    }
}
