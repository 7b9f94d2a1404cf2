import PollerDeliveries
import PollerIdentity
import PollerWatches
import SafeNumbers

/// The position of each value of an attempt in its log entry.
///
/// It is part of the stored format, so new values are added at the end.
enum AttemptValue: Int, CaseIterable {
    /// One letter, see ``PackedAttempt/code(of:)``.
    case outcome
    case kind
    /// In ms.
    case at
    case seq
    case number
    case code
    case resolveMs
    case connectMs
    case firstByteMs
    case totalMs
    case event
    case digest
    case host
    case port
    case reason
    case excerpt
}

/// An attempt as an entry in the log of its delivery.
///
/// *Shape*: a list in MessagePack with the values of ``AttemptValue`` in their order, unknown ones empty. A success
/// ends with its port. The event's ID and the digest are bytes without base64, unless they have an unusual form. An
/// IPv4 address is a number with a port; any other one is a text, which contains its port. Some 60 bytes for a success,
/// up to 1.3 KB for a failure.
///
/// *Rejected*: a line of text, readable in redis-cli. It took 100 bytes for a success, and a payment has one for each
/// event and recipient. `pollerctl delivery attempts` shows them.
enum PackedAttempt {
    /// The values of an attempt without a reason and an excerpt.
    private static let shortCount = AttemptValue.reason.rawValue
    private static let idPrefix = "evt_"
    /// The sizes of an event's ID and of a digest without base64, multiples of three.
    private static let (idBytes, digestBytes) = (18, 6)

    static func code(of outcome: AttemptResult.Outcome) -> String {
        switch outcome {
        case .delivered: "d"
        case .failed: "f"
        case .rejected: "r"
        case .skipped: "s"
        }
    }

    private static func outcome(of text: String?) -> AttemptResult.Outcome? {
        AttemptResult.Outcome.allCases.first { code(of: $0) == text }
    }

    static func bytes(of attempt: AttemptRecord) -> [UInt8] {
        let texts =
            attempt.reason.isEmpty && attempt.excerpt.isEmpty
            ? [] : [attempt.reason, attempt.excerpt]
        let address = attempt.address ?? ""
        let location = IPv4Location(address)
        var writer = MessagePackWriter(capacity: 64)
        writer.beginList(shortCount + texts.count)
        writer.append(code(of: attempt.outcome))
        writer.append(attempt.kind.rawValue)
        writer.append(attempt.at.ms)
        writer.append(attempt.seq)
        writer.append(attempt.number)
        writer.append(attempt.code)
        writer.append(attempt.phases.resolveMs)
        writer.append(attempt.phases.connectMs)
        writer.append(attempt.phases.firstByteMs)
        writer.append(attempt.phases.totalMs)
        writer.append(packed(attempt.event?.description ?? "", idPrefix, idBytes))
        writer.append(packed(attempt.digest ?? "", "", digestBytes))
        if let location {
            writer.append(location.host)
        } else {
            writer.append(address)
        }
        writer.append(location?.port)
        for text in texts { writer.append(text) }
        return writer.bytes
    }

    /// Reads an entry; `nil` if it is not valid.
    static func attempt(_ entry: [UInt8]) -> AttemptRecord? {
        var reader = MessagePackReader(entry)
        guard let count = reader.list(), count >= shortCount else { return nil }
        var values: [MessagePackValue] = []
        for _ in 0..<count {
            guard let value = reader.next() else { return nil }
            values.append(value)
        }
        func value(_ name: AttemptValue) -> MessagePackValue {
            name.rawValue < values.count ? values[name.rawValue] : .nothing
        }
        func number(_ name: AttemptValue) -> Int? { value(name).int }
        guard let outcome = outcome(of: value(.outcome).string),
            let kind = value(.kind).string.flatMap(AttemptClass.init(rawValue:)),
            let ms = number(.at), let at = Timestamp(stored: String(ms)),
            let seq = number(.seq), let tries = number(.number)
        else { return nil }
        var record = AttemptRecord(
            at: at,
            event: text(value(.event), idPrefix, idBytes).map { EventID(unchecked: $0) },
            seq: seq,
            number: tries,
            outcome: outcome,
            kind: kind,
            code: number(.code),
            address: IPv4Location(host: number(.host), port: number(.port))?.description
                ?? text(value(.host)),
            phases: AttemptPhases(
                resolveMs: number(.resolveMs),
                connectMs: number(.connectMs),
                firstByteMs: number(.firstByteMs),
                totalMs: number(.totalMs)
            ),
            reason: value(.reason).string ?? "",
            excerpt: value(.excerpt).string ?? ""
        )
        record.digest = text(value(.digest), "", digestBytes)
        return record
    }

    /// Returns the bytes of a text in base64 after its prefix, if there are `count`; otherwise the text.
    private static func packed(_ text: String, _ prefix: String, _ count: Int) -> [UInt8] {
        // Four characters are three bytes, so every such text has bytes of its own. No ID has as many bytes as these.
        guard text.utf8.count == prefix.utf8.count + count / 3 * 4, text.hasPrefix(prefix) else {
            return Array(text.utf8)
        }
        return Base64URL.decode(text.dropFirst(prefix.count)) ?? Array(text.utf8)
    }

    /// Returns the text of a value from ``packed(_:_:_:)``, or of any other text; `nil` if it is empty.
    private static func text(
        _ value: MessagePackValue,
        _ prefix: String = "",
        _ count: Int = 0
    ) -> String? {
        guard let bytes = value.text, !bytes.isEmpty else { return nil }
        return bytes.count == count
            ? prefix + Base64URL.encode(bytes) : String(decoding: bytes, as: UTF8.self)
    }
}

/// An IPv4 address with a port, as numbers.
private struct IPv4Location: CustomStringConvertible {
    let host: UInt32
    let port: UInt16

    /// Reads the usual form, `192.0.2.1:443`; `nil` for any other.
    init?(_ text: String) {
        var numbers: [Int] = []
        var digits = 0
        var number = 0
        for byte in text.utf8 {
            if byte == UInt8(ascii: numbers.count == 3 ? ":" : ".") {
                guard digits > 0, number < 256 else { return nil }
                numbers.append(number)
                (digits, number) = (0, 0)
            } else {
                // A leading zero is not the usual form.
                guard byte &- 0x30 < 10, digits == 0 || number > 0, digits < 5 else { return nil }
                number = number * 10 + Int(truncatingIfNeeded: byte &- 0x30)
                digits += 1
            }
        }
        guard numbers.count == 4, digits > 0 else { return nil }
        self.init(host: numbers.reduce(0) { $0 << 8 | $1 }, port: number)
    }

    init?(host: Int?, port: Int?) {
        guard let host = host.flatMap(UInt32.init(exactly:)),
            let port = port.flatMap(UInt16.init(exactly:))
        else { return nil }
        (self.host, self.port) = (host, port)
    }

    var description: String {
        let bytes = [24, 16, 8, 0].map { String(host >> $0 & 0xFF) }
        return "\(bytes.joined(separator: ".")):\(port)"
    }
}
