import CZlib
import Poller

/// A recorded event as it is stored: packed to an eighth, with a summary that outlives its body.
///
/// *Problem.* A payment that has finished left five events of a kilobyte, each twice, for a month: 13 KB
/// on the first day. Nearly all of it are names of members that every event has, and an object of the
/// upstream's that nobody asks for once everybody was told.
///
/// *Approach.* What a worker records is the event's JSON, to be published, and these bytes, to be stored in
/// the log and in the outbox. They hold the JSON as a raw deflate stream (RFC 1951) with a dictionary of
/// what events are made of, and before it a summary, packed likewise: the event without the object, the
/// metadata and the next step, and without what the item knows itself. Some days after a watch has ended
/// a script cuts the bodies off (fade.lua), which needs no knowledge of what is in them.
///
/// *Shape*: ``mark``, lengths of the summary packed (2 bytes) and unpacked (2), lengths of the body packed
/// (3) and unpacked (3), all big-endian; the summary; the body; then, as the script that records it has
/// put them, the metadata as JSON, or nothing. A faded one has no body, the lengths of which are 0, and no
/// metadata. What begins with `{` is an event as JSON, of a release that did not pack.
///
/// Where events are stored once it is ``once``, lengths of the body packed (3) and unpacked (3), the body and
/// the metadata: what is left of it in the end is not made by a script then (``FoldedEvents``).
///
/// *Exact*: unpacked, an event is the very bytes that were published, signed and sent. A summary is not:
/// who is told an event after its body was forgotten gets one without an object, under the same id.
///
/// *Rejected*: the body in the outbox alone, with references in the log (an open watch's newest object is
/// needed for as long as it is open); packing without a dictionary (a half instead of an eighth: each event
/// is short); a form of our own by position (each new member would be a new form).
enum PackedEvent {
    /// The first byte of what stands in the log and in the outbox; another dictionary gets another one, and
    /// this one stays readable.
    static let mark: UInt8 = 1
    /// The first byte of what stands in the log alone.
    static let once: UInt8 = 2
    /// Bytes before the summary.
    static let headLength = 11

    /// What an unpacked event may be: an object of 64 KiB, and as much beside it.
    private static let bodyMax = 1 << 18
    private static let summaryMax = Int(clamping: UInt16.max)

    /// Where the body's lengths stand, by the first byte.
    private static func place(ofLengths mark: UInt8) -> Int { mark == once ? 1 : 5 }

    /// An event to be recorded in the log alone, packed.
    ///
    /// - Returns: nothing when it cannot be packed: then its JSON is stored.
    static func onceBytes(of event: Event) -> [UInt8] {
        let body = Array(event.json.utf8)
        guard body.count <= bodyMax, let packed = pack(body) else { return [] }
        var bytes = [once]
        bytes.reserveCapacity(7 + packed.count)
        append(packed.count, 3, to: &bytes)
        append(body.count, 3, to: &bytes)
        return bytes + packed
    }

    /// An event to be recorded, packed, with its summary.
    ///
    /// - Returns: nothing when it cannot be packed: then its JSON is stored.
    static func bytes(of event: Event) -> [UInt8] {
        let body = Array(event.json.utf8)
        let summary = Array(event.summary.utf8)
        guard body.count <= bodyMax, summary.count <= summaryMax, let packedBody = pack(body),
            let packedSummary = pack(summary), packedSummary.count <= summaryMax
        else { return [] }
        var bytes = [mark]
        bytes.reserveCapacity(headLength + packedSummary.count + packedBody.count)
        append(packedSummary.count, 2, to: &bytes)
        append(summary.count, 2, to: &bytes)
        append(packedBody.count, 3, to: &bytes)
        append(body.count, 3, to: &bytes)
        return bytes + packedSummary + packedBody
    }

    /// Reads an event back.
    ///
    /// - Parameters:
    ///   - stored: an entry of a log or of the outbox.
    ///   - key: whose event it is; nil where that is not known, and then a faded one is not understood.
    /// - Returns: nil when it is none of ours.
    static func event(_ stored: [UInt8], of key: WatchKey?) -> Event? {
        guard let first = stored.first, first == mark || first == once else {
            return Event(json: String(decoding: stored, as: UTF8.self))
        }
        let lengths = place(ofLengths: first)
        let head = lengths + 6
        guard stored.count >= head else { return nil }
        let summaryEnd = head + (first == mark ? number(stored[1..<3]) : 0)
        let bodyEnd = summaryEnd + number(stored[lengths..<lengths + 3])
        let length = number(stored[lengths + 3..<head])
        guard bodyEnd <= stored.count, length <= bodyMax else { return nil }
        if bodyEnd == summaryEnd {
            guard let key, first == mark else { return nil }
            let summary = unpack(stored[head..<summaryEnd], count: number(stored[3..<5]))
            return summary.flatMap { Event(summary: String(decoding: $0, as: UTF8.self), of: key) }
        }
        guard var json = unpack(stored[summaryEnd..<bodyEnd], count: length) else { return nil }
        let metadata = stored[bodyEnd...]
        if !metadata.isEmpty {
            // As the script has put them into what it published.
            guard json.popLast() == UInt8(ascii: "}") else { return nil }
            json += ",\"metadata\":".utf8
            json += metadata
            json.append(UInt8(ascii: "}"))
        }
        return Event(json: String(decoding: json, as: UTF8.self))
    }
}

extension PackedEvent {
    /// Reads what an entry of a log holds: one event, or many that were folded.
    static func events(_ stored: [UInt8], of key: WatchKey?) -> [Event] {
        if stored.first == FoldedEvents.mark {
            return key.map { FoldedEvents.events(stored, of: $0) } ?? []
        }
        return event(stored, of: key).map { [$0] } ?? []
    }
}

/// Packing and unpacking.
extension PackedEvent {
    private static let dictionary = Array(EventDictionary.text.utf8)

    /// Packs any bytes; nil when there is no memory.
    static func pack(_ bytes: [UInt8], with dictionary: [UInt8] = dictionary) -> [UInt8]? {
        // What does not shrink is stored in blocks with a few bytes before each.
        let capacity = bytes.count + bytes.count / 64 + 64
        return unsafe through(bytes[...], capacity: capacity, dictionary, czlib_pack)
    }

    /// Unpacks bytes of which there are to be so many; nil when they are damaged.
    static func unpack(
        _ bytes: ArraySlice<UInt8>,
        count: Int,
        with dictionary: [UInt8] = dictionary
    ) -> [UInt8]? {
        let unpacked = unsafe through(bytes, capacity: count, dictionary, czlib_unpack)
        return unpacked?.count == count ? unpacked : nil
    }

    private typealias Pass = (
        UnsafePointer<UInt8>?, UInt32, UnsafePointer<UInt8>?, UInt32, UnsafeMutablePointer<UInt8>?,
        UInt32
    ) -> Int

    private static func through(
        _ bytes: ArraySlice<UInt8>,
        capacity: Int,
        _ dictionary: [UInt8],
        _ pass: Pass
    ) -> [UInt8]? {
        var isDone = true
        let output = unsafe [UInt8](unsafeUninitializedCapacity: capacity) { target, count in
            let length = unsafe dictionary.withUnsafeBufferPointer { dictionary in
                unsafe bytes.withUnsafeBufferPointer { source in
                    unsafe pass(
                        dictionary.baseAddress,
                        UInt32(clamping: dictionary.count),
                        source.baseAddress,
                        UInt32(clamping: source.count),
                        target.baseAddress,
                        UInt32(clamping: capacity)
                    )
                }
            }
            isDone = length >= 0
            count = max(length, 0)
        }
        return isDone ? output : nil
    }

    private static func append(_ number: Int, _ width: Int, to bytes: inout [UInt8]) {
        for place in (0..<width).reversed() {
            bytes.append(UInt8(truncatingIfNeeded: number >> (8 * place)))
        }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> Int {
        bytes.reduce(0) { $0 << 8 | Int(clamping: $1) }
    }
}
