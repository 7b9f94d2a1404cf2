package import PollerIdentity
import PollerQueue
import SafeNumbers

/// Which registered endpoints want an event, found by what they asked for.
///
/// *Problem*: who wants an event was found by asking each endpoint of its account, and again for each use
/// of the answer.
///
/// *Approach*: an endpoint stands in one list for each source and pattern of types that it names, or for
/// all of them. An event names the few lists it concerns, and an endpoint stands in at most
/// one of those: of its patterns those that another one covers are left out. So nobody is found twice
/// and nobody else is looked at. Metadata are not in the event: those are asked for at the attempt.
///
/// *Order*: every list is in the order of ``FanOutPosition``. An answer shares the lists as they are now
/// and copies nothing; a change after that copies the list it changes.
///
/// *Cost*: some 60 bytes for each list an endpoint stands in. A change moves what stands behind it in its
/// lists, an event looks at what it concerns.
struct EndpointIndex: Sendable {
    /// What the endpoints of a list have in common.
    private struct Topic: Hashable, Sendable {
        let account: AccountID
        /// Nil for those that name none.
        let source: SourceID?
        /// A type, `charge.*`, or empty for all.
        let pattern: String
        let isFinalOnly: Bool
    }

    private let partition: @Sendable (LaneID) -> Int
    private var lists: [Topic: [Audience.Member]] = [:]

    /// An index of endpoints; `partition` tells where the deliveries of a lane are.
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

    /// Adds an endpoint that is not there.
    mutating func insert(_ endpoint: Endpoint) {
        let member = member(endpoint)
        for topic in Self.topics(of: endpoint) {
            let place = lists[topic]?.firstPlace(behind: member.position) ?? 0
            lists[topic, default: []].insert(member, at: place)
        }
    }

    /// Removes an endpoint, which must be as it was when it was added.
    mutating func remove(_ endpoint: Endpoint) {
        let position = position(of: endpoint.id)
        for topic in Self.topics(of: endpoint) {
            guard let place = lists[topic]?.firstPlace(behind: position), place > 0,
                lists[topic]?[place - 1].position == position
            else { continue }
            lists[topic]?.remove(at: place - 1)
            if lists[topic]?.isEmpty == true { lists[topic] = nil }
        }
    }

    /// Those that want an event, as far as it tells.
    func audience(of event: Event) -> Audience {
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

    /// The patterns of a scope but those that another one covers.
    private static func patterns(of scope: EndpointScope) -> [String] {
        if scope.types.isEmpty { return [""] }
        return Set(scope.types).filter { pattern in
            !scope.types.contains { other in
                other != pattern && EndpointScope.matches(other, pattern)
            }
        }
    }

    /// Every pattern that the type matches: `a.b.c` those of all, of `a.*` and `a.b.*`, and itself.
    private static func patterns(matching type: String) -> [String] {
        let dots = type.indices.filter { type[$0] == "." }
        return ["", type] + dots.map { "\(type[...$0])*" }
    }
}

/// Those who want an event, as they were when it was asked, in the order in which they are marked.
package struct Audience: Sendable {
    /// One endpoint in a list, with what says whether it wants an event of this time.
    struct Member: Sendable {
        let position: FanOutPosition
        let since: Timestamp
        /// Nil for one that is enabled.
        let until: Timestamp?

        func wants(_ instant: Timestamp) -> Bool {
            instant >= since && until.map { instant < $0 } ?? true
        }
    }

    /// Nobody.
    static let nobody = Audience(lists: [], at: Timestamp(ms: 0))

    fileprivate let lists: [[Member]]
    /// When the event was seen.
    fileprivate let instant: Timestamp

    fileprivate init(lists: [[Member]], at instant: Timestamp) {
        self.lists = lists
        self.instant = instant
    }

    /// All of them.
    package var endpoints: [EndpointID] { next(.max, after: nil).map(\.endpoint) }

    /// Whether they are more than so many; it looks at few more than that.
    func isMore(than count: Int) -> Bool { next(count + 1, after: nil).count > count }

    /// The next `limit` behind a position; fewer at the end.
    func next(_ limit: Int, after position: FanOutPosition?) -> [FanOutPosition] {
        let heads = lists.map { list in
            var found: [FanOutPosition] = []
            let start = position.map { list.firstPlace(behind: $0) } ?? 0
            for member in list[start...] where member.wants(instant) {
                guard found.count < limit else { break }
                found.append(member.position)
            }
            return found
        }
        if let only = heads.first, heads.count == 1 { return only }
        return Array(heads.joined().sorted().prefix(limit))
    }
}

/// How far marking an event for many endpoints has come: all up to this endpoint are marked.
///
/// They stand by the partition of their deliveries, then by id, so that what is marked together is in few
/// partitions. The order is that of the endpoints themselves, whoever came or went: a position holds for
/// whoever goes on. Who came behind it after the event was recorded does not want it, and who went is told
/// nothing.
///
/// *Shape* in the store: `<partition> <endpoint>`.
package struct FanOutPosition: Hashable, Comparable, Sendable, CustomStringConvertible {
    let partition: Int
    package let endpoint: EndpointID

    /// The position at an endpoint whose deliveries are in this partition.
    package init(partition: Int, endpoint: EndpointID) {
        self.partition = partition
        self.endpoint = endpoint
    }

    /// Reads a position; nil when the text is none.
    package init?(_ text: String) {
        let parts = text.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, let first = parts.first, let partition = Int(decimal: first),
            let endpoint = parts.last
        else { return nil }
        self.init(partition: partition, endpoint: EndpointID(unchecked: String(endpoint)))
    }

    package var description: String { "\(partition) \(endpoint)" }

    /// Orders by the partition, then by the id.
    package static func < (lhs: FanOutPosition, rhs: FanOutPosition) -> Bool {
        lhs.partition == rhs.partition
            ? lhs.endpoint.description < rhs.endpoint.description : lhs.partition < rhs.partition
    }
}

extension [Audience.Member] {
    /// The first place behind a position, in a list that is in order.
    fileprivate func firstPlace(behind position: FanOutPosition) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle].position <= position { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
