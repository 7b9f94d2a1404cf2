import ChildPrograms
import Poller
import PollerIdentity
import PollerNet

/// Very many listeners on WebSockets, in processes of their own, and what all of them have heard.
///
/// A listener is a subscription to one source. They are spread over the sockets by chance, as customers and tabs are:
/// those who hear one source are at different gateways and have different numbers at their sockets.
/// A class, because it owns the processes.
final class Crowd: Sendable {
    /// Sockets of one process, and of one address: there are some 28,000 ports for each.
    private static let socketsMax = 20_000
    /// Files that a process has open besides.
    private static let otherFiles = 100
    /// A process answers between two frames; a busy machine takes its time.
    private static let answerTimeout = Duration.seconds(60)

    let count: Int
    /// What each process is told, to begin.
    private let beginnings: [[String]]
    private let processes: [ChildProcess]

    /// A listener for each of these, some of which may be the same, `perSocket` on each WebSocket, at gateways at
    /// these ports.
    init(_ wanted: [WatchKey], perSocket: Int, ports: [Int]) throws {
        count = wanted.count
        let files = OpenFiles.raiseLimit() - Self.otherFiles
        let most = perSocket * max(1, min(Self.socketsMax, files))
        let mixed = wanted.shuffled()
        // Ports of connections that are over are free again after a minute: each run has addresses of its own.
        let network = "127.\(Int.random(in: 1...254)).\(Int.random(in: 1...254))"
        let list = ports.map(String.init).joined(separator: ",")
        beginnings = stride(from: 0, to: mixed.count, by: most).enumerated().map { number, start in
            let part = mixed[start..<min(start + most, mixed.count)]
            // Other loopback addresses are there on Linux alone, and one is enough for few.
            let address = mixed.count <= most ? "-" : "\(network).\(1 + number)"
            return ["enter \(perSocket) \(address) \(list) \(part.count)"]
                + part.map { "\($0.account) \($0.source)" }
        }
        let program = try Programs.locate("pollerd-bench")
        processes = try beginnings.map { _ in try ChildProcess(program, ["crowd"]) }
    }

    /// Begins to connect all sockets.
    func enter() throws {
        for (process, lines) in zip(processes, beginnings) { _ = try ask(process, lines) }
    }

    /// How many are told what happens.
    ///
    /// - Throws: ``BenchError`` when a gateway has said what nobody asked for.
    func caughtUp() throws -> Int {
        try processes.reduce(0) { sum, process in
            let answer = try ask(process, ["progress"])
            let parts = answer.split(separator: " ", maxSplits: 1)
            if parts.count > 1 { throw BenchError("a gateway said \(parts[1].prefix(200))") }
            return sum + (parts.first.flatMap { Int($0) } ?? 0)
        }
    }

    /// What was heard since this was last asked for.
    func news() throws -> CrowdNews {
        try processes.reduce(into: CrowdNews()) { sum, process in
            guard let news = CrowdNews(line: try ask(process, ["news"])) else {
                throw BenchError("listeners do not say what they have heard")
            }
            sum.add(news)
        }
    }

    /// The mistakes, once nothing more happens; `told` is the last `seq` of each source that has events.
    func faults(_ told: [SourceID: Int]) throws -> CrowdListeners.Faults {
        let lines = ["faults \(told.count)"] + told.map { "\($0) \($1)" }
        return try processes.reduce(into: CrowdListeners.Faults()) { sum, process in
            let numbers = try ask(process, lines).split(separator: " ").compactMap { Int($0) }
            guard numbers.count == 3 else {
                throw BenchError("listeners do not say what they have missed")
            }
            sum.foreign += numbers[0]
            sum.repeated += numbers[1]
            sum.missing += numbers[2]
        }
    }

    /// Disconnects everybody.
    func leave() {
        for process in processes { process.kill() }
    }

    private func ask(_ process: ChildProcess, _ lines: [String]) throws -> String {
        guard let answer = process.request(lines, within: Self.answerTimeout) else {
            throw BenchError("listeners do not answer")
        }
        return answer
    }
}
