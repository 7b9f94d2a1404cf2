/// A fingerprint of what changes about one of Stripe's objects while its status stays, and that
/// somebody waits for.
///
/// | of | what counts |
/// |---|---|
/// | intents | `last_payment_error`, `last_setup_error`: `code`, `decline_code`, `charge`, `payment_method.id` |
/// | intents | `next_action`: `type`, `redirect_to_url.url` without its query |
/// | intents | `amount_received` |
/// | sources | `receiver`: `amount_received`, `amount_returned` |
/// | sources | `code_verification` (`verification` in the SDKs): `attempts_remaining` |
///
/// Only named fields: an address that is signed anew for each answer must not look like news at
/// every poll. What is null or 0 counts like what is missing, so that an ordinary object has no
/// fingerprint and costs the store nothing. The order of members does not matter.
struct ObjectDetail: Hashable, Sendable {
    /// A field, or an object whose fields count.
    struct Field: Sendable {
        let name: StaticString
        var inner: [Field] = []
        /// An address, of which the query does not count.
        var isAddress = false
    }

    static let error = [
        Field(name: "code"), Field(name: "decline_code"), Field(name: "charge"),
        Field(name: "payment_method", inner: [Field(name: "id")]),
    ]
    static let nextAction = [
        Field(name: "type"),
        Field(name: "redirect_to_url", inner: [Field(name: "url", isAddress: true)]),
    ]
    static let receiver = [Field(name: "amount_received"), Field(name: "amount_returned")]
    static let verification = [Field(name: "attempts_remaining")]

    private var sum: UInt64 = 0

    /// Up to seven characters; empty when nothing counts.
    var text: String {
        sum == 0 ? "" : String(UInt32(truncatingIfNeeded: sum ^ (sum >> 32)), radix: 36)
    }

    /// Takes the value of a top-level member: an object whose fields count, or null.
    mutating func read(
        _ scanner: inout JSONScanner,
        _ fields: [Field],
        in owner: StaticString
    ) throws(JSONScanner.Malformed) {
        try read(&scanner, fields, path: Self.hash(owner, from: Self.basis))
    }

    /// Takes the value of a top-level member that counts itself.
    mutating func read(
        _ scanner: inout JSONScanner,
        _ name: StaticString
    ) throws(JSONScanner.Malformed) {
        let range = try scanner.skip()
        note(scanner.bytes[range], path: Self.hash(name, from: Self.basis))
    }

    private mutating func read(
        _ scanner: inout JSONScanner,
        _ fields: [Field],
        path: UInt64
    ) throws(JSONScanner.Malformed) {
        guard scanner.peek() == UInt8(ascii: "{") else {
            try scanner.skip()
            return
        }
        var detail = self
        try scanner.members { (scanner, name) throws(JSONScanner.Malformed) in
            guard let field = fields.first(where: { scanner.spells(name, $0.name) }) else {
                try scanner.skip()
                return
            }
            let path = Self.hash(field.name, from: path)
            if !field.inner.isEmpty {
                try detail.read(&scanner, field.inner, path: path)
                return
            }
            let range = try scanner.skip()
            let value = scanner.bytes[range]
            let end = field.isAddress ? value.firstIndex(of: UInt8(ascii: "?")) : nil
            detail.note(value[..<(end ?? value.endIndex)], path: path)
        }
        self = detail
    }

    private mutating func note(_ value: ArraySlice<UInt8>, path: UInt64) {
        if value.elementsEqual("0".utf8) || value.elementsEqual("null".utf8) { return }
        var hash = path
        for byte in value { hash = Self.step(hash, byte) }
        // Mixed before it is added, so that two changes do not cancel each other.
        hash ^= hash >> 33
        hash = hash &* 0xFF51_AFD7_ED55_8CCD
        sum = sum &+ (hash ^ (hash >> 33))
    }

    /// FNV-1a, 64 bits: <http://www.isthe.com/chongo/tech/comp/fnv/>.
    private static let basis: UInt64 = 0xCBF2_9CE4_8422_2325

    private static func step(_ hash: UInt64, _ byte: UInt8) -> UInt64 {
        (hash ^ UInt64(byte)) &* 0x100_0000_01B3
    }

    private static func hash(_ name: StaticString, from start: UInt64) -> UInt64 {
        name.withUTF8Buffer { bytes in
            var hash = step(start, UInt8(ascii: "."))
            for at in bytes.indices { unsafe hash = step(hash, bytes[at]) }
            return hash
        }
    }
}
