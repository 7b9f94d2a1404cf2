import PollerIdentity
import SafeNumbers

/// The start of the next page of lanes.
///
/// Opaque to clients.
///
/// *Shape*: base64url of `1:r:<group>:<ms>:<lane>`, the last lane of a page of the sorted lanes. Or base64url of
/// `1:s:<cursor>`, a cursor of the store for the lanes beyond them.
enum LaneCursor: Hashable {
    case after(LaneRank)
    case store(String)

    /// Parses a cursor; `nil` if it is invalid.
    init?(_ text: String) {
        guard text.utf8.count <= 2048, let bytes = Base64URL.decode(text),
            let plain = String(validating: bytes, as: UTF8.self)
        else { return nil }
        if plain.hasPrefix("1:s:") {
            self = .store(String(plain.dropFirst(4)))
            return
        }
        guard plain.hasPrefix("1:r:") else { return nil }
        let parts = plain.dropFirst(4).split(
            separator: ":",
            maxSplits: 2,
            omittingEmptySubsequences: false
        )
        guard parts.count == 3, let group = parts.first.flatMap({ Int(decimal: $0) }),
            let since = parts.dropFirst().first.flatMap({ Int64(decimal: $0) }),
            let lane = parts.last
        else { return nil }
        self = .after(LaneRank(group: group, overdueSince: since, lane: String(lane)))
    }

    /// The encoded cursor.
    var text: String {
        switch self {
        case .after(let rank):
            Base64URL.encode("1:r:\(rank.group):\(rank.overdueSince):\(rank.lane)".utf8)
        case .store(let cursor): Base64URL.encode("1:s:\(cursor)".utf8)
        }
    }
}

extension RouteInput where Value == LaneCursor? {
    /// The cursor of a list of lanes.
    static var laneCursor: Self {
        .all(.cursor(lengthMax: 2048)) { text throws(Problem) in
            guard let text else { return nil }
            guard let cursor = LaneCursor(text) else { throw Problem.invalidCursor }
            return cursor
        }
    }
}
