import CZlib
import Poller
import PollerIdentity

/// What is left of all events of a watch that ended long ago, as one entry of its log.
///
/// *Problem.* Without their bodies five events are five entries of some 90 bytes, of which nearly all says the
/// same again: the order, the kind, the payment, the names of members.
///
/// *Approach.* Their summaries (``Event/shortSummary``) one after the other as one raw deflate stream, with a
/// dictionary of such (``FoldedDictionary``): what an event has in common with the one before, and with those of
/// other payments, costs a few bytes. Only a
/// program can make it, so the janitor reads the logs (bodies.lua), and writes what is left where nothing
/// was added meanwhile (fold.lua).
///
/// *Shape*: ``mark``, how many events (1 byte), length unpacked (3, big-endian, of which the first bits are
/// ``isRestored``, ``isPartlyRestored`` and ``isWhole``), how many are restored where only some are (1), the stream: summaries with a line feed between. It stands before what is
/// recorded once the watch was opened again: first in the log, or in the item where it is short (folding.lua).
///
/// What comes back from an archive (restore.lua) is one entry, too: whole as it was while its events have
/// bodies, until the janitor takes these off.
enum FoldedEvents {
    /// The first byte.
    static let mark: UInt8 = 2
    /// Bytes before the stream.
    private static let headLength = 5
    /// They came back from an archive: nobody is to be told of them.
    private static let isRestored: UInt8 = 0x80
    /// The first of them did; how many stands behind the head.
    private static let isPartlyRestored: UInt8 = 0x20
    /// They are the events themselves instead of their summaries.
    private static let isWhole: UInt8 = 0x40
    private static let dictionary = Array((EventDictionary.text + FoldedDictionary.text).utf8)
    /// As many as a log keeps; older ones go.
    static let countMax = 100
    /// What they may be unpacked: a hundred that say much.
    private static let bytesMax = 1 << 20

    /// Folds events, oldest first.
    ///
    /// - Returns: nothing when they cannot be: then they stay as they are.
    static func bytes(of events: some Collection<Event>) -> [UInt8] {
        bytes(of: events.map(\.shortSummary), restored: events.prefix(while: \.isRestored).count)
    }

    /// Packs events of an archive, oldest first, as they are; without their bodies where they are too long together.
    ///
    /// - Returns: nothing when there are none, or they cannot be packed.
    static func bytes(restoring events: [Event]) -> [UInt8] {
        // Each is one line (``Event/json``).
        let texts = events.map(\.json)
        let isFaded = events.allSatisfy { $0.withoutBody.json == $0.json }
        let whole = isFaded ? [] : bytes(of: texts, restored: texts.count, marks: isWhole)
        return whole.isEmpty ? bytes(of: events) : whole
    }

    private static func bytes(
        of texts: [String],
        restored: Int,
        marks: UInt8 = 0
    ) -> [UInt8] {
        let text = Array(texts.joined(separator: "\n").utf8)
        guard (1...countMax).contains(texts.count), text.count <= bytesMax,
            let packed = PackedEvent.pack(text, with: dictionary)
        else { return [] }
        let length = [16, 8, 0].map { UInt8(truncatingIfNeeded: text.count >> $0) }
        var (marks, few): (UInt8, [UInt8]) = (marks, [])
        if restored == texts.count {
            marks |= isRestored
        } else if restored > 0 {
            marks |= isPartlyRestored
            few = [UInt8(clamping: restored)]
        }
        // Safe: the length has three bytes.
        return [mark, UInt8(clamping: texts.count), length[0] | marks] + length[1...] + few + packed
    }

    /// Whether a log's only entry has nothing more to lose.
    static func isFolded(_ stored: [UInt8]) -> Bool {
        stored.count > headLength && stored[0] == mark && stored[2] & isWhole == 0
    }

    /// Reads them back; nothing when they are none of ours.
    static func events(_ stored: [UInt8], of key: WatchKey) -> [Event] {
        guard stored.count > headLength, stored.first == mark else { return [] }
        let marks = stored[2] & (isRestored | isPartlyRestored | isWhole)
        let isPart = marks & isPartlyRestored != 0
        let restored =
            isPart ? Int(clamping: stored[headLength]) : marks & isRestored != 0 ? countMax : 0
        let start = headLength + (isPart ? 1 : 0)
        let length =
            stored[2..<headLength].reduce(0) { $0 << 8 | Int(clamping: $1) } ^ Int(clamping: marks)
            << 16
        guard length <= bytesMax,
            let text = PackedEvent.unpack(stored[start...], count: length, with: dictionary)
        else { return [] }
        return text.split(separator: UInt8(ascii: "\n")).enumerated().compactMap { index, line in
            let line = String(decoding: line, as: UTF8.self)
            let read = marks & isWhole == 0 ? Event(summary: line, of: key) : Event(json: line)
            guard var event = read, event.key == key else { return nil }
            event.isRestored = index < restored
            return event
        }
    }
}
