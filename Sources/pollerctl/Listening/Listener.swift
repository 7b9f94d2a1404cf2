import ArgumentParser
import Foundation
import PollerClient
import PollerWire
import Synchronization

/// Reads events behind a position and forwards them one after the other; the position moves when the
/// receiver has accepted.
///
/// *Order*: that of the server's log: of `seq` within a source. One event at a time is under way, so
/// one that is refused holds up those behind it; nothing is skipped unless somebody says so.
struct Listener {
    /// What the server waits for news.
    private static let wait = Duration.seconds(30)
    /// Events looked at for a page, and with that the most ids that are kept beside a cursor.
    private static let page = 100
    /// Pages of 500 that are counted ahead: of more than 10,000 events nobody wants the number.
    private static let countedPagesMax = 20

    let client: PollerClient
    let forwarder: Forwarder
    let files: ListenFiles
    /// Ids that somebody has said to leave out.
    let skipped: Set<String>
    let isJSON: Bool
    /// The event forwarded last, for who wants it once more.
    let last: LastEvent
    private(set) var position: ListenerPosition
    private var isUnavailable = false
    private var backoff = Backoff()

    init(
        _ client: PollerClient,
        _ forwarder: Forwarder,
        files: ListenFiles,
        position: ListenerPosition,
        skipped: Set<String>,
        isJSON: Bool,
        last: LastEvent
    ) {
        self.client = client
        self.forwarder = forwarder
        self.files = files
        self.position = position
        self.skipped = skipped
        self.isJSON = isJSON
        self.last = last
    }

    /// Forwards until it is interrupted, or something fails that waiting does not mend.
    mutating func run() async throws -> Never {
        while true {
            let page = try await read()
            if page.hasGap {
                Terminal.printError(
                    "some events are no longer kept and cannot be forwarded\n"
                        + "See pollerctl list for where the watches are now."
                )
            }
            for event in page.events where !position.accepted.contains(event.value.id) {
                try await deliver(event)
                position.accepted.append(event.value.id)
                position.total += 1
                try files.store(position)
            }
            guard let next = page.next, next != position.cursor else { continue }
            position.cursor = next
            position.accepted = []
            try files.store(position)
        }
    }

    /// How many events are to be reported before those of now, and whether there are more than counted.
    func backlog() async throws -> (count: Int, isMore: Bool) {
        var count = 0
        var start = position.start
        for _ in 0..<Self.countedPagesMax {
            let page = try await client.events(
                from: start,
                account: position.account,
                types: position.types,
                limit: 500
            )
            count += page.items.count { !position.accepted.contains($0.value.id) }
            guard page.hasMore, let next = page.next else { return (count, false) }
            start = .cursor(next)
        }
        return (count, true)
    }

    /// The next page; a server that has gone is waited for.
    private mutating func read() async throws -> (
        events: [Received<Event>], next: String?, hasGap: Bool
    ) {
        while true {
            do {
                let page = try await client.events(
                    from: position.start,
                    account: position.account,
                    types: position.types,
                    limit: Self.page,
                    // Whether it is back is reported at once, and not with the next event.
                    wait: isUnavailable ? .zero : Self.wait
                )
                backoff.reset()
                if isUnavailable { Terminal.printError("\(client.url) is back; events go on") }
                isUnavailable = false
                return (page.items, page.next, page.hasGap)
            } catch PollerError.problem(let problem) where problem.field == "cursor" {
                guard position.cursor != nil else { throw PollerError.problem(problem) }
                Terminal.printError(
                    "\(client.url) does not know this position: its store, or the key, is another\n"
                        + "Goes on with the oldest event that it keeps."
                )
                position.cursor = nil
                position.since = nil
                position.accepted = []
            } catch let error as PollerError where error.isTransient {
                if !isUnavailable { Follow.report(outage: error, of: client.url) }
                isUnavailable = true
                try await backoff.sleep(atLeast: error.retryAfter)
            }
        }
    }

    /// Forwards one event until it is accepted; says why it is not, once for each reason.
    private func deliver(_ event: Received<Event>) async throws {
        guard !skipped.contains(event.value.id) else {
            return Terminal.printError("\(event.value.id) is left out, as --skip says")
        }
        last.set(event)
        var backoff = Backoff()
        var reported: String?
        var times = 0
        while true {
            times += 1
            let attempt = try await forwarder.forward(event)
            guard let problem = attempt.problem else {
                if reported != nil {
                    Terminal.printError("\(event.value.id) is accepted at attempt \(times)")
                }
                return event.show(attempt, times: times, json: isJSON)
            }
            if reported != problem {
                Terminal.printError(
                    "\(position.target) \(problem); \(event.value.id) (\(event.value.type)) is reported "
                        + "again until it is accepted, the others wait"
                )
            }
            reported = problem
            try await backoff.sleep()
        }
    }
}

/// The event forwarded last.
///
/// A class, because the keyboard and the listener share it.
final class LastEvent: Sendable {
    private let event = Mutex<Received<Event>?>(nil)

    func set(_ event: Received<Event>) { self.event.withLock { $0 = event } }

    /// Forwards it once more; the listener's own position stays as it is.
    func resend(_ forwarder: Forwarder, json: Bool) async throws {
        guard let event = event.withLock({ $0 }) else {
            return Terminal.printError("nothing was forwarded yet")
        }
        try await event.show(forwarder.forward(event), times: 1, json: json)
    }
}
