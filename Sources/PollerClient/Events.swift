import NIOHTTP1
public import PollerWire

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
    ) async throws -> Page<Event> {
        let query = name.query + [("after_seq", String(seq)), ("limit", String(limit))]
        let answer = try await send(.GET, name.path + "/events", query: query)
        return try Page(answer)
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
    ) async throws -> Page<Event> {
        var query: [(String, String?)] = [
            ("limit", String(limit)), ("account", account),
            ("source", sources.isEmpty ? nil : sources.joined(separator: ",")),
            ("types", types.isEmpty ? nil : types.joined(separator: ",")),
            ("wait", wait > .zero ? "\(Span(wait))" : nil),
        ]
        switch start {
        case .oldest: query.append(("from", "oldest"))
        case .now: query.append(("from", "now"))
        case .time(let date): query.append(("from", "\(Time(date))"))
        case .cursor(let cursor): query.append(("cursor", cursor))
        }
        let answer = try await send(.GET, "/v1/events", query: query, wait: wait)
        return try Page(answer)
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
