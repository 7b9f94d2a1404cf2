import PollerIdentity
import PollerQueue
import SafeNumbers

/// A position in a list of watches.
///
/// *Shape* as cursor: base64url of `t|entry` in the order of creation (``CreationPosition``), the usual order; of
/// `c|score|id` in quarantine, of `s|step|lookup|position|passed|steps|splitState` among matches of the search index,
/// of `n|step|lane|source|steps` among matches by name. A cursor holds nothing secret, and a forged one only lists from
/// another position.
///
/// A step is a partition as it was when the list began (``PartitionMap/steps``). All partitions that it was split into
/// since are the same step, even after several splits.
enum WatchListPosition {
    case created(CreationPosition)
    case quarantined(QuarantinePosition)
    case found(EntryPosition)
    case named(NamePosition)

    /// Reads the position of a cursor; `nil` if the cursor is not valid.
    init?(cursor: String, of map: PartitionMap) {
        let bytes = Base64URL.decode(cursor) ?? []
        let parts = Packed.split(String(decoding: bytes, as: UTF8.self))
        switch (parts.first, parts.count) {
        case ("c", 3):
            guard let position = QuarantinePosition(cursor: cursor) else { return nil }
            self = .quarantined(position)
        case ("t", 2):
            guard let position = CreationPosition(cursor: cursor) else { return nil }
            self = .created(position)
        case ("s", 7):
            guard let position = EntryPosition(parts, of: map) else { return nil }
            self = .found(position)
        case ("n", 5):
            guard let position = NamePosition(parts, of: map) else { return nil }
            self = .named(position)
        default: return nil
        }
    }

    var cursor: String {
        switch self {
        case .created(let position): position.cursor
        case .quarantined(let position): position.cursor
        case .found(let position): Base64URL.encode(Packed.join(["s"] + position.parts).utf8)
        case .named(let position): Base64URL.encode(Packed.join(["n"] + position.parts).utf8)
        }
    }
}

/// The position of a search among entries of the index.
///
/// It has the step (``WatchListPosition``), the entry in one of its partitions, HSCAN's cursor in its bucket or the
/// last word, and the items passed in that part of the bucket.
///
/// Items that are added or removed meanwhile change no other item's place. If Redis resizes the bucket, an item may be
/// returned twice. HSCAN's cursors are valid for one bucket only. If the step was split since, it begins again, and
/// items of that one step may be returned twice.
struct EntryPosition {
    let step: Int
    let steps: Int
    /// The split state of the step (``PartitionMap/splitState(of:among:)``).
    let splitState: String
    var at = 0
    var scan = "0"
    /// The items passed in the part at `scan`; `nil` if that part begins.
    private var passed: Passed?

    /// The items of a part up to an ID, and HSCAN's cursor after the part, which identifies it.
    private struct Passed {
        let next: String
        let id: String

        init(next: String, id: String) { (self.next, self.id) = (next, id) }

        /// Reads a part of a cursor; `nil` for one without passed items, and for the number in cursors of other builds.
        init?(_ text: String) {
            let values = text.split(separator: ":", maxSplits: 1).map(String.init)
            // Safe: there are two values.
            guard values.count == 2 else { return nil }
            self.init(next: values[0], id: values[1])
        }

        var text: String { "\(next):\(id)" }
    }

    /// The beginning of a step; of the first one by default.
    init(of map: PartitionMap, step: Int = 0, among steps: Int? = nil) {
        self.step = step
        self.steps = steps ?? map.steps
        splitState = map.splitState(of: step, among: self.steps)
    }

    fileprivate init?(_ parts: [String], of map: PartitionMap) {
        let values = Array(parts.dropFirst())
        guard values.count == 6, let step = Int(count: values[0]), let at = Int(count: values[1]),
            Self.isScan(values[2]), let steps = Int(count: values[4]),
            map.hasStep(step, among: steps)
        else { return nil }
        (self.step, self.steps, splitState) = (step, steps, values[5])
        (self.at, scan, passed) = (at, values[2], Passed(values[3]))
    }

    /// Returns whether a match of the part at this position was passed.
    func hasPassed(_ match: EntryReply.Match) -> Bool {
        guard let passed, match.from == scan, match.next == passed.next else { return false }
        return match.id.description <= passed.id
    }

    /// Moves past a match.
    mutating func pass(_ match: EntryReply.Match) {
        scan = match.endsPart ? match.next : match.from
        passed = match.endsPart ? nil : Passed(next: match.next, id: match.id.description)
    }

    /// Returns whether a text is a cursor of HSCAN, or an entry of a word in hexadecimal digits (search.lua).
    private static func isScan(_ text: String) -> Bool {
        if UInt64(decimal: text) != nil { return true }
        return text.utf8.count % 2 == 0 && (2...256).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
            }
    }

    fileprivate var parts: [String] {
        [String(step), String(at), scan, passed?.text ?? "0", String(steps), splitState]
    }
}

/// The position of a search by names: the last name checked, as a source in a lane, in a step (``WatchListPosition``).
struct NamePosition: Hashable, Comparable {
    let step: Int
    let steps: Int
    let lane: String
    let source: Int

    init(step: Int, among steps: Int, lane: String, source: Int) {
        (self.step, self.steps, self.lane, self.source) = (step, steps, lane, source)
    }

    /// The beginning of the search.
    init(of map: PartitionMap) {
        self.init(step: 0, among: map.steps, lane: "", source: -1)
    }

    fileprivate init?(_ parts: [String], of map: PartitionMap) {
        guard parts.count == 5, let step = Int(count: parts[1]), let source = Int(safe: parts[3]),
            let steps = Int(count: parts[4]), map.hasStep(step, among: steps)
        else { return nil }
        self.init(step: step, among: steps, lane: parts[2], source: source)
    }

    fileprivate var parts: [String] { [String(step), lane, String(source), String(steps)] }

    static func < (lhs: NamePosition, rhs: NamePosition) -> Bool {
        guard lhs.step == rhs.step else { return lhs.step < rhs.step }
        guard lhs.lane == rhs.lane else { return LaneNames.precedes(lhs.lane, rhs.lane) }
        return lhs.source < rhs.source
    }
}
