import NIOHTTP1
public import PollerWire

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension PollerClient {
    /// Returns a page of one watch's events, by seq.
    ///
    /// The last 100 are kept.
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

    /// Returns a page of all events.
    ///
    /// Its `next` is always set, for events that will be recorded. With a filter the page may be empty although more
    /// events exist.
    ///
    /// - `sources`: only of these, at most 50. Empty means all.
    /// - `types`: only of these, such as `source.chargeable` or `source.*`, at most 20.
    /// - `limit`: 1–500 events to examine.
    /// - `wait`: the longest wait for the first event, at most a minute.
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

    /// Follows the events of some watches, first the recorded ones, then new ones.
    ///
    /// No event is lost over dropped connections and server restarts, because the follower resumes after the last
    /// event. `seq`: begins after this seq of each watch, or 0 for the whole kept history.
    public func follow(
        _ names: [WatchName],
        after seq: Int = 0,
        types: [String] = []
    ) -> EventFollower {
        EventFollower(client: self, names: names, afterSeq: seq, types: types, start: .now)
    }

    /// Follows the events of all watches from a position.
    public func follow(
        from start: EventStart = .now,
        account: String? = nil,
        types: [String] = []
    ) -> EventFollower {
        EventFollower(client: self, account: account, types: types, start: start)
    }

    /// Follows the events of one watch, each once, in order, until the watch has ended.
    ///
    /// Recorded events come first, then new ones. No event is lost or repeated over restarts of either side if you
    /// store the last `seq` and resume after it. `seq`: begins after this seq, or 0 for the whole kept history of the
    /// last 100 events.
    public func events(for name: WatchName, after seq: Int = 0) -> WatchEvents {
        WatchEvents(client: self, name: name, afterSeq: seq)
    }
}

/// The position at which a reader of events begins.
public enum EventStart: Hashable, Sendable {
    /// At the oldest event that is kept.
    case oldest
    /// With events recorded from now on.
    case now
    /// With events recorded from this time on.
    case time(Date)
    /// After a page, given by its ``Page/next``.
    case cursor(String)
}
