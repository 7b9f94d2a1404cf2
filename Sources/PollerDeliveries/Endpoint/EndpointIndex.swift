package import PollerIdentity
import PollerQueue
import PollerWatches
import SafeNumbers

/// An index from events to the registered endpoints that subscribe to them.
///
/// *Problem*: without an index, every endpoint of an account had to be checked for each event, and again for each use
/// of the result.
///
/// *Approach*: an endpoint is in one list for each source and type pattern of its scope, or in the list for all of
/// them. An event concerns only a few lists, and an endpoint is in at most one of those, because patterns covered by
/// another one are left out. So no endpoint is found twice, and no other one is checked. Metadata is not part of the
/// event and is checked at the attempt.
///
/// *Order*: every list is in the order of ``FanOutPosition``. A result shares the current lists without a copy; a later
/// change copies the list that it changes.
///
/// *Cost*: about 60 bytes for each list of an endpoint. A change moves the later entries of its lists, and an event
/// reads the entries that it concerns.
struct EndpointIndex: Sendable {
    /// The key of a list.
    private struct Topic: Hashable, Sendable {
        let account: AccountID
        /// The source; `nil` for endpoints that name none.
        let source: SourceID?
        /// The pattern: a type, `charge.*`, or empty for all.
        let pattern: String
        let isFinalOnly: Bool
    }

    private let partition: @Sendable (LaneID) -> Int
    private var lists: [Topic: [Audience.Member]] = [:]

    /// Creates an index of endpoints; `partition` returns the partition of a lane of deliveries.
    init(
        _ endpoints: some Sequence<Endpoint> = [],
        partition: @escaping @Sendable (LaneID) -> Int
    ) {
        self.partition = partition
        for endpoint in endpoints {
            let member = member(endpoint)
            for topic in Self.topics(of: endpoint) { lists[topic, default: []].append(member) }
        }
        for topic in lists.keys { lists[topic]?.sort { $0.position < $1.position } }
    }

    /// Adds a new endpoint.
    mutating func insert(_ endpoint: Endpoint) {
        insert(member(endpoint), under: Self.topics(of: endpoint))
    }

    /// Adds an endpoint that this release does not understand, for all events of its account.
    ///
    /// The release that wrote it sends the events that the endpoint wants. Like a disabled endpoint, it collects events
    /// for a day only: without that release they would accumulate in the store.
    mutating func insert(_ foreign: ForeignEndpoint) {
        let member = Audience.Member(
            position: position(of: foreign.id),
            since: foreign.createdAt,
            until: foreign.updatedAt + Endpoint.catchUp
        )
        insert(member, under: Self.topics(of: foreign))
    }

    private mutating func insert(_ member: Audience.Member, under topics: [Topic]) {
        for topic in topics {
            let index = lists[topic]?.insertionIndex(behind: member.position) ?? 0
            lists[topic, default: []].insert(member, at: index)
        }
    }

    /// Removes an endpoint, which must equal the one that was added.
    mutating func remove(_ endpoint: Endpoint) {
        remove(endpoint.id, under: Self.topics(of: endpoint))
    }

    /// Removes an endpoint that was not understood.
    mutating func remove(_ foreign: ForeignEndpoint) {
        remove(foreign.id, under: Self.topics(of: foreign))
    }

    private mutating func remove(_ id: EndpointID, under topics: [Topic]) {
        let position = position(of: id)
        for topic in topics {
            guard let index = lists[topic]?.insertionIndex(behind: position), index > 0,
                lists[topic]?[index - 1].position == position
            else { continue }
            lists[topic]?.remove(at: index - 1)
            if lists[topic]?.isEmpty == true { lists[topic] = nil }
        }
    }

    /// Returns the endpoints that subscribe to an event, according to the event's own data.
    func audience(of event: Event) -> Audience {
        guard !lists.isEmpty else { return .empty }
        var found: [[Audience.Member]] = []
        for isFinalOnly in event.closed == nil ? [false] : [false, true] {
            for source in [nil, event.key.source] {
                for pattern in Self.patterns(matching: event.type) {
                    let topic = Topic(
                        account: event.key.account,
                        source: source,
                        pattern: pattern,
                        isFinalOnly: isFinalOnly
                    )
                    if let list = lists[topic] { found.append(list) }
                }
            }
        }
        return Audience(lists: found, at: event.polledAt)
    }

    private func member(_ endpoint: Endpoint) -> Audience.Member {
        Audience.Member(
            position: position(of: endpoint.id),
            since: endpoint.createdAt,
            until: endpoint.collectsUntil
        )
    }

    private func position(of id: EndpointID) -> FanOutPosition {
        FanOutPosition(partition: partition(LaneID(endpoint: id)), endpoint: id)
    }

    private static func topics(of endpoint: Endpoint) -> [Topic] {
        let scope = endpoint.scope
        let sources: [SourceID?] = scope.sources.isEmpty ? [nil] : scope.sources.map(\.self)
        return sources.flatMap { source in
            patterns(of: scope).map { pattern in
                Topic(
                    account: endpoint.account,
                    source: source,
                    pattern: pattern,
                    isFinalOnly: scope.finalOnly
                )
            }
        }
    }

    private static func topics(of foreign: ForeignEndpoint) -> [Topic] {
        guard let account = foreign.account else { return [] }
        return [Topic(account: account, source: nil, pattern: "", isFinalOnly: false)]
    }

    /// Returns the patterns of a scope, without those that another one covers.
    private static func patterns(of scope: EndpointScope) -> [String] {
        if scope.types.isEmpty { return [""] }
        return Set(scope.types).filter { pattern in
            !scope.types.contains { other in
                other != pattern && EndpointScope.matches(other, pattern)
            }
        }
    }

    /// Returns every pattern that matches the type: for `a.b.c` the empty one, `a.*`, `a.b.*`, and itself.
    private static func patterns(matching type: String) -> [String] {
        let dots = type.indices.filter { type[$0] == "." }
        return ["", type] + dots.map { "\(type[...$0])*" }
    }
}

/// The endpoints that subscribe to an event, as of the lookup, in the order in which they are marked.
package struct Audience: Sendable {
    /// An endpoint in a list, with the time range of the events that it receives.
    struct Member: Sendable {
        let position: FanOutPosition
        let since: Timestamp
        /// The end of the range; `nil` for an enabled endpoint.
        let until: Timestamp?

        func covers(_ instant: Timestamp) -> Bool {
            instant >= since && until.map { instant < $0 } ?? true
        }
    }

    static let empty = Audience(lists: [], at: Timestamp(ms: 0))

    fileprivate let lists: [[Member]]
    /// The time of the event.
    fileprivate let instant: Timestamp

    fileprivate init(lists: [[Member]], at instant: Timestamp) {
        self.lists = lists
        self.instant = instant
    }

    /// The IDs of all endpoints.
    package var endpoints: [EndpointID] { next(.max, after: nil).map(\.endpoint) }

    /// Whether there are more than `count` endpoints, without reading many more.
    func isMore(than count: Int) -> Bool { next(count + 1, after: nil).count > count }

    /// Returns the next `limit` endpoints after a position; fewer at the end.
    func next(_ limit: Int, after position: FanOutPosition?) -> [FanOutPosition] {
        let heads = lists.map { list in
            var found: [FanOutPosition] = []
            let start = position.map { list.insertionIndex(behind: $0) } ?? 0
            for member in list[start...] where member.covers(instant) {
                guard found.count < limit else { break }
                found.append(member.position)
            }
            return found
        }
        if let only = heads.first, heads.count == 1 { return only }
        return Array(heads.joined().sorted().prefix(limit))
    }
}

/// The progress of marking an event for many endpoints: all up to this endpoint are marked.
///
/// Endpoints are sorted by the partition of their deliveries, then by ID, so that marks made together are in few
/// partitions. The order does not depend on the other endpoints, so a position is valid for any reader that continues.
/// An endpoint added later does not receive the event, and a removed one receives nothing.
///
/// *Shape* in the store: `<partition> <endpoint>`.
package struct FanOutPosition: Hashable, Comparable, Sendable, CustomStringConvertible {
    let partition: Int
    package let endpoint: EndpointID

    /// Creates the position of an endpoint whose deliveries are in this partition.
    package init(partition: Int, endpoint: EndpointID) {
        self.partition = partition
        self.endpoint = endpoint
    }

    /// Parses a position; `nil` for any other text.
    package init?(_ text: String) {
        let parts = text.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, let first = parts.first, let partition = Int(decimal: first),
            let endpoint = parts.last
        else { return nil }
        self.init(partition: partition, endpoint: EndpointID(unchecked: String(endpoint)))
    }

    package var description: String { "\(partition) \(endpoint)" }

    /// Sorts by the partition, then by the ID.
    package static func < (lhs: FanOutPosition, rhs: FanOutPosition) -> Bool {
        lhs.partition == rhs.partition
            ? lhs.endpoint.description < rhs.endpoint.description : lhs.partition < rhs.partition
    }
}

extension [Audience.Member] {
    /// Returns the first index after a position, in a sorted list.
    fileprivate func insertionIndex(behind position: FanOutPosition) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle].position <= position { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
