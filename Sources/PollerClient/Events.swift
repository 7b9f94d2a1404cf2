import NIOHTTP1

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension PollerClient {
    /// A page of one watch's events, by seq; the last 100 are kept.
    ///
    /// `limit`: 1–100.
    public func events(
        of name: WatchName,
        after seq: Int = 0,
        limit: Int = 100
    ) async throws -> Page<WatchEvent> {
        let query = name.query + [("after_seq", String(seq)), ("limit", String(limit))]
        let answer = try await send(.GET, name.path + "/events", query: query)
        return try Page(answer, WatchEvent.init(json:))
    }

    /// A page of all events.
    ///
    /// Its `next` is always there, for what will be recorded; with a filter it may be empty
    /// although there is more.
    ///
    /// - `sources`: of these only, at most 50; empty for all.
    /// - `types`: of these only, such as `source.chargeable` or `source.*`, at most 20.
    /// - `limit`: 1–500, events looked at.
    /// - `wait`: how long to wait for the first event, at most a minute.
    public func events(
        from start: EventStart,
        sources: [String] = [],
        account: String? = nil,
        types: [String] = [],
        limit: Int = 100,
        wait: Duration = .zero
    ) async throws -> Page<WatchEvent> {
        var query: [(String, String?)] = [
            ("limit", String(limit)), ("account", account),
            ("source", sources.isEmpty ? nil : sources.joined(separator: ",")),
            ("types", types.isEmpty ? nil : types.joined(separator: ",")),
            ("wait", wait > .zero ? wait.spanText : nil),
        ]
        switch start {
        case .oldest: query.append(("from", "oldest"))
        case .now: query.append(("from", "now"))
        case .time(let date): query.append(("from", date.wireTime))
        case .cursor(let cursor): query.append(("cursor", cursor))
        }
        let answer = try await send(.GET, "/v1/events", query: query, wait: wait)
        return try Page(answer, WatchEvent.init(json:))
    }

    /// The events of some watches: first what is recorded already, then what will be.
    ///
    /// Nothing is lost over dropped connections and restarts of the server: the follower goes on
    /// behind the last event it gave.
    /// `seq`: begins behind this seq of each; 0 for the whole history that is kept.
    public func follow(
        _ names: [WatchName],
        after seq: Int = 0,
        types: [String] = []
    ) -> EventFollower {
        EventFollower(client: self, names: names, afterSeq: seq, types: types, start: .now)
    }

    /// The events of all watches from a place on.
    public func follow(
        from start: EventStart = .now,
        account: String? = nil,
        types: [String] = []
    ) -> EventFollower {
        EventFollower(client: self, account: account, types: types, start: start)
    }

    /// The events of one watch: first what is recorded already, then what will be, each once, in
    /// order, until the watch has ended.
    ///
    /// Restarts of either side lose and repeat nothing: keep the last `seq` and begin behind it.
    /// `seq`: begins behind this seq; 0 for the whole history that is kept, the last 100 events.
    public func events(for name: WatchName, after seq: Int = 0) -> WatchEvents {
        WatchEvents(client: self, name: name, afterSeq: seq)
    }
}

/// Where a reader of events begins.
public enum EventStart: Hashable, Sendable {
    /// At the oldest event that is kept.
    case oldest
    /// With what is recorded from now on.
    case now
    /// With what was recorded at this time.
    case time(Date)
    /// Behind a page: its ``Page/next``.
    case cursor(String)
}

/// One recorded change of one source.
public struct WatchEvent: Hashable, Sendable {
    /// The same on every channel: dedupe by it.
    public let id: String
    /// What happened: `source.chargeable`, `payment_intent.succeeded`, `watch.expired`.
    public let type: String
    /// The account at the upstream.
    public let account: String
    /// The upstream's id.
    public let source: String
    /// `source` or `payment_intent`.
    public let kind: String
    /// Gapless for each watch, from 1, over all its runs.
    public let seq: Int
    /// The run it happened in.
    public let run: Int
    /// The status before.
    public let previousStatus: String?
    /// The status now.
    public let status: String?
    /// The status cannot change any more: the payment has come to its end.
    public let isFinal: Bool
    /// Why the watch ended with this event; nil while it goes on.
    ///
    /// `settled`, `expired`, `cancelled`, `gone` or `dead`; no further event of this run follows.
    public let closedReason: String?
    /// When the upstream was asked.
    public let polledAt: Date
    /// The event as it goes over every channel, the upstream's `object` included.
    public let json: String

    /// Reads an event; nil when the text is not one.
    init?(json: String) {
        guard let wire = try? JSONDecoder().decode(Wire.self, from: Data(json.utf8)),
            let polledAt = Date(wireTime: wire.observed.polledAt)
        else { return nil }
        id = wire.id
        type = wire.type
        account = wire.account
        source = wire.source
        kind = wire.kind
        seq = wire.seq
        run = wire.run
        previousStatus = wire.previousStatus
        status = wire.status
        isFinal = wire.final
        closedReason = wire.closedReason
        self.polledAt = polledAt
        self.json = json
    }

    private struct Wire: Decodable {
        let id: String
        let type: String
        let account: String
        let source: String
        let kind: String
        let seq: Int
        let run: Int
        let previousStatus: String?
        let status: String?
        let final: Bool
        let closedReason: String?
        let observed: Observed

        struct Observed: Decodable {
            let polledAt: String

            enum CodingKeys: String, CodingKey {
                case polledAt = "polled_at"
            }
        }

        enum CodingKeys: String, CodingKey {
            case id, type, account, source, kind, seq, run, status, final, observed
            case previousStatus = "previous_status"
            case closedReason = "closed_reason"
        }
    }
}
