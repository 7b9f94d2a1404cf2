import ArgumentParser
import Foundation
import PollerClient
import PollerWire
import Synchronization

/// Reads events after a position and forwards them one at a time.
///
/// The position advances when the receiver accepts an event.
///
/// *Order*: the order of the server's log, which is by `seq` within a source. An event that is not
/// accepted blocks the following ones; only `--skip` skips an event.
struct Listener {
    /// How long the server waits for new events.
    private static let wait = Duration.seconds(30)
    /// Events per page, and so the maximum number of IDs stored with a cursor.
    private static let page = 100
    /// Pages of 500 events counted for the backlog; above 10,000 the exact count does not matter.
    private static let countedPagesMax = 20

    let client: PollerClient
    let forwarder: Forwarder
    let files: ListenFiles
    /// The IDs of events to skip.
    let skipped: Set<String>
    let isJSON: Bool
    /// The last forwarded event, for a resend.
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

    /// Forwards events until cancelled, or until an error that a retry cannot fix.
    mutating func run() async throws -> Never {
        while true {
            let page = try await read()
            if page.hasGap {
                Terminal.printError(
                    "some events are no longer stored and cannot be forwarded\n"
                        + "Run pollerctl list for the current state of the watches."
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

    /// The number of pending events, and whether there are more than counted.
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

    /// Reads the next page; retries while the server is unavailable.
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
                    // After an outage, do not wait for an event before reporting the recovery.
                    wait: isUnavailable ? .zero : Self.wait
                )
                backoff.reset()
                if isUnavailable {
                    Terminal.printError("\(client.url) is available again; events continue")
                }
                isUnavailable = false
                return (page.items, page.next, page.hasGap)
            } catch PollerError.problem(let problem) where problem.field == "cursor" {
                guard position.cursor != nil else { throw PollerError.problem(problem) }
                Terminal.printError(
                    "\(client.url) does not know the saved position; its store or the API key has changed\n"
                        + "Continuing with the oldest stored event."
                )
                position.cursor = nil
                position.since = nil
                position.accepted = []
            } catch let error as PollerError where error.isTransient {
                if !isUnavailable { Failure.report(outage: error, of: client.url) }
                isUnavailable = true
                try await backoff.sleep(atLeast: error.retryAfter)
            }
        }
    }

    /// Forwards an event until it is accepted, and reports each new failure once.
    private func deliver(_ event: Received<Event>) async throws {
        guard !skipped.contains(event.value.id) else {
            return Terminal.printError("\(event.value.id) skipped (--skip)")
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
                    Terminal.printError("\(event.value.id) accepted on attempt \(times)")
                }
                return event.show(attempt, times: times, json: isJSON)
            }
            if reported != problem {
                Terminal.printError(
                    "\(position.target) \(problem); \(event.value.id) (\(event.value.type)) is "
                        + "retried until it is accepted; later events wait"
                )
            }
            reported = problem
            try await backoff.sleep()
        }
    }
}

/// The last forwarded event.
final class LastEvent: Sendable {
    private let event = Mutex<Received<Event>?>(nil)

    func set(_ event: Received<Event>) { self.event.withLock { $0 = event } }

    /// Forwards the event again; the listener's position does not change.
    func resend(_ forwarder: Forwarder, json: Bool) async throws {
        guard let event = event.withLock({ $0 }) else {
            return Terminal.printError("no event has been forwarded yet")
        }
        try await event.show(forwarder.forward(event), times: 1, json: json)
    }
}
