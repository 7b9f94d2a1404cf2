import JSONText
import PollerIdentity
import PollerWatches

/// A recorded event in the log of its watch, packed to a sixth of its size.
///
/// *Problem.* A finished payment left five events of about a kilobyte for a month: 6.5 KB on the first day. Nearly all
/// of that is member names and the upstream's object, which is not needed after the deliveries.
///
/// *Approach.* A worker records the event's JSON, to be published, and these bytes, to be stored in the log. They hold
/// the JSON packed with a dictionary of common parts of events (``Compressor``). Some days after a watch has
/// ended, `Retention` replaces all of its events by one short entry (``CompactedEvents``).
///
/// *Shape*: ``mark``, lengths of the body packed (3 bytes) and unpacked (3), both big-endian; the body; then the
/// metadata, as JSON or in its short form (``ShortText``), which the recording script appends, or nothing. An event
/// that cannot be packed, because it is too long or memory is short, is stored as its JSON, which begins with `{`.
///
/// In the body one byte replaces the ID of the source (``sourceByte``): the reader knows it, and random text cannot be
/// compressed.
///
/// *Exact*: an unpacked event has the same bytes that were published, signed and sent.
///
/// *Rejected*: packing without a dictionary (a half instead of a sixth: each event is short); members by position
/// instead of JSON (each new member would change the format).
enum PackedEvent {
    /// The first byte; another dictionary would get another mark, and this one stays readable.
    static let mark: UInt8 = 1

    /// The number of bytes before the body.
    private static let headLength = 7
    /// The byte that represents the ID of the source.
    ///
    /// JSON has no such byte. A short ID, such as the name of an order, is not replaced.
    private static let sourceByte: UInt8 = 1
    private static let sourceBytes = ByteSearch(String(decoding: [sourceByte], as: UTF8.self))
    private static let sourceLengthMin = 12
    /// The longest unpacked event: an object of 64 KiB, and as much other data.
    private static let bodyMax = 1 << 18

    /// Packs an event to be recorded.
    ///
    /// - Returns: an empty array if it cannot be packed; then its JSON is stored.
    static func bytes(of event: Event) -> [UInt8] {
        var body = Array(event.json.utf8)
        guard body.count <= bodyMax, sourceBytes.first(in: body, body.indices) == nil else {
            return []
        }
        let source = event.key.source.description
        if source.utf8.count >= sourceLengthMin {
            body = ByteSearch(source).replacing(in: body, with: [sourceByte])
        }
        guard let packed = compressor.compress(body) else { return [] }
        var bytes = [mark]
        bytes.reserveCapacity(headLength + packed.count)
        append(packed.count, 3, to: &bytes)
        append(body.count, 3, to: &bytes)
        return bytes + packed
    }

    /// Reads an event from an entry of the log of a source.
    ///
    /// - Returns: `nil` if the entry is not valid.
    static func event(_ stored: [UInt8], source: String) -> Event? {
        guard stored.first == mark else {
            return Event(utf8: stored)
        }
        guard let (body, length) = body(of: stored),
            let unpacked = compressor.decompress(body, count: length)
        else { return nil }
        var json = sourceBytes.replacing(in: unpacked, with: source.utf8)
        let metadata = stored[body.endIndex...]
        if !metadata.isEmpty {
            // The script added the metadata to the published event in the same form.
            guard json.popLast() == UInt8(ascii: "}") else { return nil }
            json += ",\"metadata\":".utf8
            json += ShortText.text(of: Array(metadata)).utf8
            json.append(UInt8(ascii: "}"))
        }
        return Event(utf8: json)
    }
}

extension PackedEvent {
    /// The beginning of the JSON of an event, before its ID.
    private static let idPrefix = Array(#"{"id":""#.utf8)
    /// The part before the time of the poll.
    ///
    /// The upstream's object precedes it, and no text of others follows.
    private static let timePrefix = Array(#""observed":{"polled_at":""#.utf8)

    /// Returns ``Event/digest`` of an entry in the log of a source; `nil` if the event must be read.
    ///
    /// The entry is unpacked for it: 2 µs for an event of 1 KB, 0.2 ms for the longest one.
    static func digest(_ stored: [UInt8], source: String) -> String? {
        guard stored.first == mark, let (body, length) = body(of: stored),
            let unpacked = compressor.decompress(body, count: length)
        else { return nil }
        let json = sourceBytes.replacing(in: unpacked, with: source.utf8)
        guard json.starts(with: idPrefix),
            let time = json.indices.last(where: { json[$0...].starts(with: timePrefix) })
        else { return nil }
        func text(after start: Int) -> ArraySlice<UInt8> {
            json[start...].prefix { $0 != UInt8(ascii: "\"") }
        }
        return Event.digest(
            of: text(after: idPrefix.count),
            polledAt: text(after: time + timePrefix.count)
        )
    }

    /// Returns the unpacked length of an entry, before it is unpacked; 0 if it is damaged.
    static func length(of stored: [UInt8]) -> Int {
        guard stored.first == mark else { return stored.count }
        return body(of: stored)?.length ?? 0
    }

    /// Returns the frame of a packed entry and its unpacked length; `nil` if they are damaged.
    private static func body(of stored: [UInt8]) -> (packed: ArraySlice<UInt8>, length: Int)? {
        guard stored.count >= headLength else { return nil }
        let end = headLength + number(stored[1..<4])
        let length = number(stored[4..<headLength])
        guard end <= stored.count, length <= bodyMax else { return nil }
        return (stored[headLength..<end], length)
    }
}

extension PackedEvent {
    /// Reads the events of a log entry: one event, or several compacted ones.
    static func events(_ stored: [UInt8], of key: WatchKey) -> [Event] {
        events(stored, of: key, source: key.source.description)
    }

    /// Reads the events of a log entry; only a watch has compacted ones, and a `key`.
    static func events(_ stored: [UInt8], of key: WatchKey?, source: String) -> [Event] {
        if stored.first == CompactedEvents.mark {
            return key.map { CompactedEvents.events(stored, of: $0) } ?? []
        }
        return event(stored, source: source).map { [$0] } ?? []
    }

    /// Reads the events of a whole log, oldest first; `nil` if one of them is not understood.
    static func allEvents(of log: [[UInt8]], of key: WatchKey) -> [Event]? {
        var all: [Event] = []
        for entry in log {
            let found = events(entry, of: key)
            guard found.count == count(of: entry) else { return nil }
            all += found
        }
        return all
    }

    /// Returns the number of events that an entry has, even if not all of them are understood.
    static func count(of stored: [UInt8]) -> Int {
        stored.first == CompactedEvents.mark ? CompactedEvents.count(of: stored) : 1
    }
}

extension PackedEvent {
    private static let compressor = Compressor(
        head: EventDictionary.head,
        text: EventDictionary.text
    )

    private static func append(_ number: Int, _ width: Int, to bytes: inout [UInt8]) {
        for index in (0..<width).reversed() {
            bytes.append(UInt8(truncatingIfNeeded: number >> (8 * index)))
        }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> Int {
        bytes.reduce(0) { $0 << 8 | Int(clamping: $1) }
    }
}
