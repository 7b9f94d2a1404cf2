import CZlib
import Poller

/// What is left of all events of a watch that ended long ago, as one entry of its log.
///
/// *Problem.* Without their bodies five events are five entries of some 90 bytes, of which nearly all says the
/// same again: the order, the kind, the payment, the names of members.
///
/// *Approach.* Their summaries (``Event/summary``) one after the other as one raw deflate stream, with the
/// dictionary of ``PackedEvent``: what an event has in common with the one before costs a few bytes. Only a
/// program can make it, so the janitor reads the logs (bodies.lua), and writes what is left where nothing
/// was added meanwhile (fold.lua).
///
/// *Shape*: ``mark``, how many events (1 byte), length unpacked (3, big-endian), the stream: summaries with a
/// line feed between. It stands first in the log; what is recorded once the watch was opened again follows it.
enum FoldedEvents {
    /// The first byte.
    static let mark: UInt8 = 3
    /// Bytes before the stream.
    private static let headLength = 5
    /// As many as a log keeps; older ones go.
    static let countMax = 100
    /// What they may be unpacked: a hundred that say much.
    private static let bytesMax = 1 << 20

    /// Folds events, oldest first.
    ///
    /// - Returns: nothing when they cannot be: then they stay as they are.
    static func bytes(of events: some Collection<Event>) -> [UInt8] {
        let text = Array(events.map(\.summary).joined(separator: "\n").utf8)
        guard (1...countMax).contains(events.count), text.count <= bytesMax,
            let packed = PackedEvent.pack(text)
        else { return [] }
        let length = [16, 8, 0].map { UInt8(truncatingIfNeeded: text.count >> $0) }
        return [mark, UInt8(events.count)] + length + packed
    }

    /// Reads them back; nothing when they are none of ours.
    static func events(_ stored: [UInt8], of key: WatchKey) -> [Event] {
        guard stored.count > headLength, stored.first == mark else { return [] }
        let length = stored[2..<headLength].reduce(0) { $0 << 8 | Int($1) }
        guard length <= bytesMax,
            let text = PackedEvent.unpack(stored[headLength...], count: length)
        else { return [] }
        let summaries = text.split(separator: UInt8(ascii: "\n"))
        return summaries.compactMap { Event(summary: String(decoding: $0, as: UTF8.self), of: key) }
    }
}
