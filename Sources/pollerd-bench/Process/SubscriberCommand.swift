import ArgumentParser
import Foundation
import PollerIdentity

/// `pollerd-bench subscribers`: a process of subscribers that executes commands from standard input.
///
/// A process has a limited number of sockets, and the subscribers' cost must not be part of the measuring program.
///
/// | input | reply, one line |
/// |---|---|
/// | `enter PER_SOCKET ADDRESS PORT,PORT COUNT`, then COUNT lines `ACCOUNT SOURCE` | `entering` |
/// | `progress` | the number of caught-up subscriptions, and an unexpected message |
/// | `received` | ``ReceivedFrames`` since the last time |
/// | `faults COUNT`, then COUNT lines `SOURCE SEQ` | foreign, repeated and missing events |
struct SubscriberCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscribers",
        abstract: "Open connections to gateways as directed on standard input.",
        shouldDisplay: false
    )

    /// The subscribers with the ports to connect to.
    private struct PendingConnects: Sendable {
        let listeners: SubscriberGroup
        let ports: [Int]
    }

    func run() async throws {
        let (entering, continuation) = AsyncStream.makeStream(of: PendingConnects.self)
        // Reading blocks, and Swift's thread pool has only one thread per core.
        Thread.detachNewThread {
            Self.executeCommands { continuation.yield($0) }
            continuation.finish()
        }
        await withDiscardingTaskGroup { group in
            // Connecting takes as long as the gateways need, and `progress` is requested meanwhile.
            for await connects in entering {
                group.addTask { await connects.listeners.enter(ports: connects.ports) }
            }
            group.cancelAll()
        }
    }

    /// Executes commands until the end of input or an unknown command.
    private static func executeCommands(_ enter: (PendingConnects) -> Void) {
        var listeners: SubscriberGroup?
        func next(_ count: Int) -> [[Substring]] {
            (0..<count).compactMap { _ in readLine()?.split(separator: " ") }
        }
        while let words = next(1).first {
            switch (words.first ?? "", words.count) {
            case ("enter", 5):
                let subscribers = SubscriberGroup(
                    next(Int(words[4]) ?? 0).compactMap(watch),
                    perSocket: Int(words[1]) ?? 1,
                    address: words[2] == "-" ? nil : String(words[2])
                )
                listeners = subscribers
                let ports = words[3].split(separator: ",").compactMap { Int($0) }
                enter(PendingConnects(listeners: subscribers, ports: ports))
                answer("entering")
            case ("progress", 1):
                let progress = listeners?.progress
                answer("\(progress?.caughtUp ?? 0) \(progress?.unexpected ?? "")")
            case ("received", 1): answer(listeners?.received().line ?? "")
            case ("faults", 2):
                let lastSeqs = next(Int(words[1]) ?? 0).map { line in
                    (String(line.first ?? ""), Int(line.last ?? "") ?? 0)
                }
                let faults = listeners?.faults(Dictionary(lastSeqs) { $1 }) ?? .init()
                answer("\(faults.foreign) \(faults.repeated) \(faults.missing)")
            default: return
            }
        }
    }

    /// Reads a line with a source, or returns `nil` for any other line.
    private static func watch(_ line: [Substring]) -> WatchKey? {
        guard line.count == 2, let account = try? AccountID(String(line[0])),
            let source = try? SourceID(String(line[1]))
        else { return nil }
        return WatchKey(account: account, source: source, kind: .source)
    }

    private static func answer(_ text: String) {
        let line = text.replacing("\n", with: " ") + "\n"
        FileHandle.standardOutput.write(Data(line.utf8))
    }
}
