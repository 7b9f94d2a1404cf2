import ChildPrograms
import PollerIdentity
import PollerNet

/// A large number of WebSocket subscribers in separate processes, with the totals of their received events.
///
/// A subscriber has a subscription to one source. Subscribers are spread over the sockets at random, as customers and
/// tabs are. So the subscribers of one source are at different gateways and have different numbers at their sockets. It
/// is a class because it owns the processes.
final class SubscriberProcesses: Sendable {
    /// The maximum of sockets per process and address.
    ///
    /// Each address has some 28,000 ports.
    private static let socketsMax = 20_000
    /// Files that a process has open in addition.
    private static let otherFiles = 100
    /// The timeout of a reply.
    ///
    /// A process replies between two frames, which takes time on a busy machine.
    private static let answerTimeout = Duration.seconds(60)

    let count: Int
    /// The first commands of each process.
    private let beginnings: [[String]]
    private let processes: [ChildProcess]

    /// Creates a subscriber for each of these watches, possibly with duplicates.
    ///
    /// Each WebSocket has `perSocket` subscriptions, and the gateways listen on these ports.
    init(_ wanted: [WatchKey], perSocket: Int, ports: [Int]) throws {
        count = wanted.count
        let files = OpenFiles.raiseLimit() - Self.otherFiles
        let most = perSocket * max(1, min(Self.socketsMax, files))
        let mixed = wanted.shuffled()
        // Each run uses other addresses, because the ports of closed connections stay blocked for a minute.
        let network = "127.\(Int.random(in: 1...254)).\(Int.random(in: 1...254))"
        let list = ports.map(String.init).joined(separator: ",")
        beginnings = stride(from: 0, to: mixed.count, by: most).enumerated().map { number, start in
            let part = mixed[start..<min(start + most, mixed.count)]
            // Only Linux has the other loopback addresses, and few subscribers need just one.
            let address = mixed.count <= most ? "-" : "\(network).\(1 + number)"
            return ["enter \(perSocket) \(address) \(list) \(part.count)"]
                + part.map { "\($0.account) \($0.source)" }
        }
        let program = try Programs.locate("pollerd-bench")
        processes = try beginnings.map { _ in try ChildProcess(program, ["subscribers"]) }
    }

    /// Starts to connect all sockets.
    func enter() throws {
        for (process, lines) in zip(processes, beginnings) { _ = try ask(process, lines) }
    }

    /// Returns the number of subscriptions that have caught up.
    ///
    /// - Throws: ``BenchError`` if a gateway has sent an unexpected message.
    func caughtUp() throws -> Int {
        try processes.reduce(0) { sum, process in
            let answer = try ask(process, ["progress"])
            let parts = answer.split(separator: " ", maxSplits: 1)
            if parts.count > 1 { throw BenchError("a gateway said \(parts[1].prefix(200))") }
            return sum + (parts.first.flatMap { Int($0) } ?? 0)
        }
    }

    /// Returns the events received since the last call.
    func received() throws -> ReceivedFrames {
        try processes.reduce(into: ReceivedFrames()) { sum, process in
            guard let received = ReceivedFrames(line: try ask(process, ["received"])) else {
                throw BenchError("listeners did not report their received frames")
            }
            sum.add(received)
        }
    }

    /// Returns the delivery errors after the load has ended.
    ///
    /// `lastSeqs` is the last `seq` of each source with events.
    func faults(_ lastSeqs: [SourceID: Int]) throws -> SubscriberGroup.Faults {
        let lines = ["faults \(lastSeqs.count)"] + lastSeqs.map { "\($0) \($1)" }
        return try processes.reduce(into: SubscriberGroup.Faults()) { sum, process in
            let numbers = try ask(process, lines).split(separator: " ").compactMap { Int($0) }
            guard numbers.count == 3 else {
                throw BenchError("listeners did not report their missed frames")
            }
            sum.foreign += numbers[0]
            sum.repeated += numbers[1]
            sum.missing += numbers[2]
        }
    }

    /// Disconnects all subscribers.
    func leave() {
        for process in processes { process.kill() }
    }

    private func ask(_ process: ChildProcess, _ lines: [String]) throws -> String {
        guard let answer = process.request(lines, within: Self.answerTimeout) else {
            throw BenchError("listeners do not respond")
        }
        return answer
    }
}
