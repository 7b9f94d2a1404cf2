import Poller

/// Where a list of watches stands.
///
/// *Shape* as cursor: that of ``ListPosition``, or base64url of `c|score|id` among the closed ones, of
/// `s|lookup|place|skipped` among those that were found in the index, of `n|partition|lane|source` among
/// those that are found by their names.
enum WatchPlace {
    case listed(ListPosition)
    case closed(score: String, id: String)
    case found(EntryPlace)
    case named(NamePlace)

    /// The place a cursor names; nil for one that is none of ours.
    init?(cursor: String) {
        let bytes = Base64URL.decode(cursor) ?? []
        let parts = Packed.split(String(decoding: bytes, as: UTF8.self))
        switch (parts.first, parts.count) {
        case ("c", 3):
            guard parts[1].isEmpty || Double(parts[1]) != nil else { return nil }
            self = .closed(score: parts[1], id: parts[2])
        case ("s", 4):
            guard let at = Int(parts[1]), at >= 0, UInt64(parts[2]) != nil,
                let skipped = Int(parts[3]), skipped >= 0
            else { return nil }
            self = .found(EntryPlace(at: at, scan: parts[2], skipped: skipped))
        case ("n", 4):
            guard let partition = Int(parts[1]), partition >= 0, let source = Int(parts[3]) else {
                return nil
            }
            self = .named(NamePlace(partition: partition, lane: parts[2], source: source))
        default:
            guard let position = ListPosition(cursor: cursor, state: nil) else { return nil }
            self = .listed(position)
        }
    }

    /// Where a list begins.
    static func start(of state: ListQuery.State?) -> Self {
        .listed(ListPosition(of: state))
    }

    var cursor: String {
        switch self {
        case .listed(let position): position.cursor
        case .closed(let score, let id): Base64URL.encode(Packed.join(["c", score, id]).utf8)
        case .found(let place):
            Base64URL.encode(
                Packed.join(["s", String(place.at), place.scan, String(place.skipped)]).utf8
            )
        case .named(let place):
            Base64URL.encode(
                Packed.join(["n", String(place.partition), place.lane, String(place.source)]).utf8
            )
        }
    }
}

/// Where a search stands among entries of the index: the entry in its partition, HSCAN's place in its
/// bucket, and how many of those it told were passed.
struct EntryPlace {
    var at = 0
    var scan = "0"
    var skipped = 0
}

/// Where a search by names stands: the last one that was asked for, the source in its lane.
struct NamePlace: Hashable, Comparable {
    static let start = NamePlace(partition: 0, lane: "", source: -1)

    let partition: Int
    let lane: String
    let source: Int

    static func < (lhs: NamePlace, rhs: NamePlace) -> Bool {
        guard lhs.partition == rhs.partition else { return lhs.partition < rhs.partition }
        guard lhs.lane == rhs.lane else { return LaneNames.precedes(lhs.lane, rhs.lane) }
        return lhs.source < rhs.source
    }
}
