import ArgumentParser
import Foundation
import PollerClient
import PollerWire
import Synchronization

/// Reads events behind a place and forwards them one after the other; the place moves when the
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
    private(set) var place: ListenPlace
    private var isOut = false
    private var backoff = Backoff()

    init(
        _ client: PollerClient,
        _ forwarder: Forwarder,
        files: ListenFiles,
        place: ListenPlace,
        skipped: Set<String>,
        isJSON: Bool,
        last: LastEvent
    ) {
        self.client = client
        self.forwarder = forwarder
        self.files = files
        self.place = place
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
            for event in page.events where !place.accepted.contains(event.value.id) {
                try await tell(event)
                place.accepted.append(event.value.id)
                place.total += 1
                try files.keep(place)
            }
            guard let next = page.next, next != place.cursor else { continue }
            place.cursor = next
            place.accepted = []
            try files.keep(place)
        }
    }

    /// How many events are to be told before those of now, and whether there are more than counted.
    func behind() async throws -> (count: Int, isMore: Bool) {
        var count = 0
        var start = place.start
        for _ in 0..<Self.countedPagesMax {
            let page = try await client.events(
                from: start,
                account: place.account,
                types: place.types,
                limit: 500
            )
            count += page.items.count { !place.accepted.contains($0.value.id) }
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
                    from: place.start,
                    account: place.account,
                    types: place.types,
                    limit: Self.page,
                    // Whether it is back is told at once, and not with the next event.
                    wait: isOut ? .zero : Self.wait
                )
                backoff.reset()
                if isOut { Terminal.printError("\(client.url) is back; events go on") }
                isOut = false
                return (page.items, page.next, page.hasGap)
            } catch PollerError.problem(let problem) where problem.field == "cursor" {
                guard place.cursor != nil else { throw PollerError.problem(problem) }
                Terminal.printError(
                    "\(client.url) does not know this place: its store, or the key, is another\n"
                        + "Goes on with the oldest event that it keeps."
                )
                place.cursor = nil
                place.since = nil
                place.accepted = []
            } catch let error as PollerError where error.isTransient {
                if !isOut { Follow.tell(outage: error, of: client.url) }
                isOut = true
                try await backoff.sleep(atLeast: error.retryAfter)
            }
        }
    }

    /// Forwards one event until it is accepted; says why it is not, once for each reason.
    private func tell(_ event: Received<Event>) async throws {
        guard !skipped.contains(event.value.id) else {
            return Terminal.printError("\(event.value.id) is left out, as --skip says")
        }
        last.keep(event)
        var backoff = Backoff()
        var told: String?
        var times = 0
        while true {
            times += 1
            let attempt = try await forwarder.forward(event)
            guard let problem = attempt.problem else {
                if told != nil {
                    Terminal.printError("\(event.value.id) is accepted at attempt \(times)")
                }
                return event.show(attempt, times: times, json: isJSON)
            }
            if told != problem {
                Terminal.printError(
                    "\(place.target) \(problem); \(event.value.id) (\(event.value.type)) is told "
                        + "again until it is accepted, the others wait"
                )
            }
            told = problem
            try await backoff.sleep()
        }
    }
}

/// The event forwarded last.
///
/// A class, because the keyboard and the listener share it.
final class LastEvent: Sendable {
    private let event = Mutex<Received<Event>?>(nil)

    func keep(_ event: Received<Event>) { self.event.withLock { $0 = event } }

    /// Forwards it once more; the listener's own place stays as it is.
    func resend(_ forwarder: Forwarder, json: Bool) async throws {
        guard let event = event.withLock({ $0 }) else {
            return Terminal.printError("nothing was forwarded yet")
        }
        try await event.show(forwarder.forward(event), times: 1, json: json)
    }
}
