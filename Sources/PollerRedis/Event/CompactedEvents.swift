import PollerDeliveries
import PollerIdentity
import PollerWatches

/// The events of a closed watch as one entry of its log: complete, or reduced when the watch ended long ago.
///
/// *Problem.* Without their bodies, five events are five entries of about 90 bytes. Nearly all of that is repetition:
/// the order, the kind, the payment, the names of members.
///
/// *Approach.* Their summaries (``Event/shortSummary``) are joined and compressed together, with a dictionary of
/// summaries (``CompactedDictionary``). The parts that an event shares with the previous one, or with those of other
/// payments, then cost a few bytes. Only a program can compress them, so `Retention` reads the logs (compact_read.lua),
/// and writes the result if nothing was added meanwhile (compact_write.lua).
///
/// *Shape*: ``mark``, the number of events (1 byte), the unpacked length (3, big-endian, whose first bits are
/// ``isRestored``, ``isPartlyRestored`` and ``isWhole``), the number of restored events if only some are (1), the
/// packed text (``Compressor``): summaries separated by line feeds. It precedes the events recorded after the watch was
/// reopened. It is the first entry of the log, or a field of the item if it is short (lib_compacted_events.lua).
///
/// Some minutes after a watch has closed, its events are packed together without a change: five of them then take half
/// as much. Events restored from an archive (restore.lua) are also one entry. Both stay complete until `Retention`
/// removes the bodies of events.
enum CompactedEvents {
    /// The first byte.
    static let mark: UInt8 = 2
    /// The number of bytes before the packed text.
    private static let headLength = 5
    /// The events were restored from an archive, so they are not delivered.
    private static let isRestored: UInt8 = 0x80
    /// The first events were restored; their number follows the head.
    private static let isPartlyRestored: UInt8 = 0x20
    /// The entry has the events themselves instead of their summaries.
    private static let isWhole: UInt8 = 0x40
    private static let compressor = Compressor(
        head: CompactedDictionary.head,
        text: EventDictionary.text + CompactedDictionary.text
    )
    /// The number of events that a log keeps; older ones are dropped.
    static let countMax = 100
    /// The most complete events that are packed together, and their longest text, because a reader of one of them
    /// decodes all.
    private static let (compactCountMax, compactBytesMax) = (32, 1 << 16)
    /// The longest unpacked form, enough for a hundred large events.
    private static let bytesMax = 1 << 20

    /// Reduces events to one entry, oldest first.
    ///
    /// - Returns: an empty array if that is not possible; then they stay unchanged.
    static func bytes(of events: some Collection<Event>) -> [UInt8] {
        bytes(of: events.map(\.shortSummary), restored: events.prefix(while: \.isRestored).count)
    }

    /// Packs complete events of an archive, oldest first; without their bodies if they are too long together.
    ///
    /// - Returns: an empty array if there are none, or they cannot be packed.
    static func bytes(restoring events: [Event]) -> [UInt8] {
        // Each is one line (``Event/json``).
        let texts = events.map(\.json)
        let isReduced = events.allSatisfy { $0.withoutBody.json == $0.json }
        let whole = isReduced ? [] : bytes(of: texts, restored: texts.count, marks: isWhole)
        return whole.isEmpty ? bytes(of: events) : whole
    }

    /// Packs the entries of a log together, without a change of their events.
    ///
    /// - Returns: an empty array if the log stays unchanged: it is long, it has reduced or restored events, or an entry
    ///   is not understood.
    static func bytes(compacting log: [[UInt8]], of key: WatchKey) -> [UInt8] {
        guard log.count <= compactCountMax, log.allSatisfy(isComplete),
            log.reduce(0, { $0 + length(of: $1) }) <= compactBytesMax
        else { return [] }
        guard let events = PackedEvent.allEvents(of: log, of: key),
            events.count <= compactCountMax, events.allSatisfy({ $0.key == key })
        else { return [] }
        let texts = events.map(\.json)
        let packed = bytes(of: texts, restored: 0, marks: isWhole)
        // Nothing may be lost, so the result is unpacked once.
        let lines = text(of: packed)?.split(separator: UInt8(ascii: "\n")) ?? []
        return lines.elementsEqual(texts) { $0.elementsEqual($1.utf8) } ? packed : []
    }

    /// Returns whether an entry has complete events that were not restored.
    private static func isComplete(_ stored: [UInt8]) -> Bool {
        guard stored.first == mark else { return true }
        return stored.count > headLength
            && stored[2] & (isRestored | isPartlyRestored | isWhole) == isWhole
    }

    /// Returns the unpacked length of an entry of a log, before it is unpacked.
    private static func length(of stored: [UInt8]) -> Int {
        guard stored.first == mark else { return PackedEvent.length(of: stored) }
        let marks = stored[2] & (isRestored | isPartlyRestored | isWhole)
        return stored[2..<headLength].reduce(0) { $0 << 8 | Int(clamping: $1) }
            ^ Int(clamping: marks) << 16
    }

    private static func bytes(
        of texts: [String],
        restored: Int,
        marks: UInt8 = 0
    ) -> [UInt8] {
        let text = Array(texts.joined(separator: "\n").utf8)
        guard (1...countMax).contains(texts.count), text.count <= bytesMax,
            let packed = compressor.compress(text)
        else { return [] }
        let length = [16, 8, 0].map { UInt8(truncatingIfNeeded: text.count >> $0) }
        var (marks, restoredCount): (UInt8, [UInt8]) = (marks, [])
        if restored == texts.count {
            marks |= isRestored
        } else if restored > 0 {
            marks |= isPartlyRestored
            restoredCount = [UInt8(clamping: restored)]
        }
        // Safe: the length has three bytes.
        return [mark, UInt8(clamping: texts.count), length[0] | marks] + length[1...]
            + restoredCount + packed
    }

    /// Returns whether a log's only entry cannot be reduced further.
    static func isReduced(_ stored: [UInt8]) -> Bool {
        stored.count > headLength && stored[0] == mark && stored[2] & isWhole == 0
    }

    /// Returns the number of events that an entry has, even if not all of them are understood.
    static func count(of stored: [UInt8]) -> Int {
        stored.count > headLength ? max(Int(clamping: stored[1]), 1) : 1
    }

    /// Reads the events; empty if the entry is not valid.
    static func events(_ stored: [UInt8], of key: WatchKey) -> [Event] {
        guard let text = text(of: stored) else { return [] }
        let isWhole = stored[2] & isWhole != 0
        let restored = restored(of: stored)
        return text.split(separator: UInt8(ascii: "\n")).enumerated().compactMap { index, line in
            let line = String(decoding: line, as: UTF8.self)
            let read = isWhole ? Event(json: line) : Event(summary: line, of: key)
            guard var event = read, event.key == key else { return nil }
            event.isRestored = index < restored
            return event
        }
    }

    /// Unpacks the lines of an entry; `nil` if it is not valid.
    private static func text(of stored: [UInt8]) -> [UInt8]? {
        guard stored.count > headLength, stored.first == mark else { return nil }
        let start = headLength + (stored[2] & isPartlyRestored == 0 ? 0 : 1)
        let length = length(of: stored)
        guard length <= bytesMax else { return nil }
        return compressor.decompress(stored[start...], count: length)
    }

    /// Returns the number of restored events of an entry.
    private static func restored(of stored: [UInt8]) -> Int {
        if stored[2] & isPartlyRestored != 0 { return Int(clamping: stored[headLength]) }
        return stored[2] & isRestored != 0 ? countMax : 0
    }
}
