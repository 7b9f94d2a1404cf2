import JSONText
import SafeNumbers

/// The few fields of a Stripe object that decisions depend on.
///
/// *Problem*: every poll reads an object of some kilobytes, of which six members matter. A decoder would create
/// values for all of them.
/// *Approach*: one pass over the bytes checks that they are JSON, skips irrelevant members, and reads the others by
/// name. The object itself is passed on as the received bytes.
struct ObjectFacts: Hashable, Sendable {
    var id: String?
    /// The object type: `source`, `payment_intent` or another Stripe type.
    var object: String?
    var status: String?
    /// The payment method of a source.
    var type: String?
    /// The usage of a source: `reusable` or `single_use`.
    var usage: String?
    /// The creation time in seconds since 1970.
    var created: Int64?
    /// Whether the object is in live mode.
    var isLive: Bool?
    /// The fingerprint of other relevant fields.
    var detail = ObjectDetail()

    /// Reads the fields in one pass; of two members with the same name the first one counts.
    ///
    /// - Parameter bytes: the whole text.
    /// - Throws: an error if the text is not a JSON object, or if `id` or `status` is not a string. The other fields
    ///   stay `nil` if they are missing, null or of another type.
    init(scanning bytes: [UInt8]) throws(JSONError) {
        self.init()
        var scanner = JSONScanner(bytes)
        try scanner.enterObject()
        while let name = try scanner.nextName() { try take(name, &scanner) }
        try scanner.finish()
    }

    private init() {}

    /// Reads one member.
    private mutating func take(
        _ name: JSONScanner.Literal,
        _ scanner: inout JSONScanner
    ) throws(JSONError) {
        // Comparing lengths first avoids comparing most of an object's 60 names.
        switch name.range.count {
        case 2 where scanner.spells(name, "id"): try Self.required(&scanner, &id)
        case 6 where scanner.spells(name, "status"): try Self.required(&scanner, &status)
        case 6 where scanner.spells(name, "object"): try Self.optional(&scanner, &object)
        case 4 where scanner.spells(name, "type"): try Self.optional(&scanner, &type)
        case 5 where scanner.spells(name, "usage"): try Self.optional(&scanner, &usage)
        case 7 where scanner.spells(name, "created"):
            let range = try scanner.skip()
            created =
                created ?? Int64(decimal: String(decoding: scanner.bytes[range], as: UTF8.self))
        case 8 where scanner.spells(name, "livemode"):
            let range = try scanner.skip()
            isLive = isLive ?? Bool(String(decoding: scanner.bytes[range], as: UTF8.self))
        case 8 where scanner.spells(name, "receiver"):
            try detail.read(&scanner, ObjectDetail.receiver, in: "receiver")
        case 11 where scanner.spells(name, "next_action"):
            try detail.read(&scanner, ObjectDetail.nextAction, in: "next_action")
        case 12 where scanner.spells(name, "verification"):
            try detail.read(&scanner, ObjectDetail.verification, in: "verification")
        case 15 where scanner.spells(name, "amount_received"):
            try detail.read(&scanner, "amount_received")
        case 16 where scanner.spells(name, "last_setup_error"):
            try detail.read(&scanner, ObjectDetail.error, in: "last_setup_error")
        case 17 where scanner.spells(name, "code_verification"):
            try detail.read(&scanner, ObjectDetail.verification, in: "code_verification")
        case 18 where scanner.spells(name, "last_payment_error"):
            try detail.read(&scanner, ObjectDetail.error, in: "last_payment_error")
        case 7... where name.hasEscapes: try takeEscaped(name, &scanner)
        default: try scanner.skip()
        }
    }

    /// Reads a member whose name is written with escapes and is therefore longer than its decoded form.
    private mutating func takeEscaped(
        _ name: JSONScanner.Literal,
        _ scanner: inout JSONScanner
    ) throws(JSONError) {
        switch scanner.text(name) {
        case "id": try Self.required(&scanner, &id)
        case "status": try Self.required(&scanner, &status)
        case "type": try Self.optional(&scanner, &type)
        case "usage": try Self.optional(&scanner, &usage)
        default: try scanner.skip()
        }
    }

    private static func required(
        _ scanner: inout JSONScanner,
        _ field: inout String?
    ) throws(JSONError) {
        guard scanner.peek() == UInt8(ascii: "\"") else {
            throw scanner.error("id and status must be strings")
        }
        let literal = try scanner.string()
        guard let text = scanner.text(literal) else {
            throw scanner.error("id or status is no text")
        }
        field = field ?? text
    }

    private static func optional(
        _ scanner: inout JSONScanner,
        _ field: inout String?
    ) throws(JSONError) {
        guard scanner.peek() == UInt8(ascii: "\"") else {
            try scanner.skip()
            return
        }
        let literal = try scanner.string()
        field = field ?? scanner.text(literal)
    }
}

/// A fingerprint of relevant changes of a Stripe object while its status stays the same.
///
/// | object | fields |
/// |---|---|
/// | intents | `last_payment_error`, `last_setup_error`: `code`, `decline_code`, `charge`, `payment_method.id` |
/// | intents | `next_action`: `type`, and `redirect_to_url.url` without the query, and only the host for Stripe pages |
/// | intents | `amount_received` |
/// | sources | `receiver`: `amount_received`, `amount_returned` |
/// | sources | `code_verification` (`verification` in the SDKs): `attempts_remaining` |
///
/// Only named fields count, because a URL that is signed again for each response must not look like a change at every
/// poll. A field that is null or 0 counts as missing, so an ordinary object has no fingerprint and needs no space in
/// the store. The order of members does not matter.
struct ObjectDetail: Hashable, Sendable {
    /// A field, or an object with relevant fields.
    struct Field: Sendable {
        let name: StaticString
        var inner: [Field] = []
        /// Whether the field is a URL, whose query does not count.
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

    /// The fingerprint with up to seven characters; empty if no field counts.
    var text: String {
        sum == 0 ? "" : String(UInt32(truncatingIfNeeded: sum ^ (sum >> 32)), radix: 36)
    }

    /// Reads the value of a top-level member that is an object with relevant fields, or null.
    mutating func read(
        _ scanner: inout JSONScanner,
        _ fields: [Field],
        in owner: StaticString
    ) throws(JSONError) {
        try read(&scanner, fields, path: Self.hash(owner, from: Self.basis))
    }

    /// Reads the value of a top-level member that is a relevant field itself.
    mutating func read(
        _ scanner: inout JSONScanner,
        _ name: StaticString
    ) throws(JSONError) {
        let range = try scanner.skip()
        note(scanner.bytes[range], path: Self.hash(name, from: Self.basis))
    }

    private mutating func read(
        _ scanner: inout JSONScanner,
        _ fields: [Field],
        path: UInt64
    ) throws(JSONError) {
        guard scanner.peek() == UInt8(ascii: "{") else {
            try scanner.skip()
            return
        }
        try scanner.enterObject()
        while let name = try scanner.nextName() {
            guard let field = fields.first(where: { scanner.spells(name, $0.name) }) else {
                try scanner.skip()
                continue
            }
            let path = Self.hash(field.name, from: path)
            if !field.inner.isEmpty {
                try read(&scanner, field.inner, path: path)
                continue
            }
            let range = try scanner.skip()
            let value = scanner.bytes[range]
            note(field.isAddress ? Self.stablePart(value) : value, path: path)
        }
    }

    /// Returns the part of a URL that is the same in every response.
    ///
    /// It excludes the query. For Stripe's own pages it is only the host, because their path contains a token.
    private static func stablePart(_ address: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let bare = address.prefix { $0 != UInt8(ascii: "?") }
        // The URL is within quotation marks, and a slash may be escaped. The host starts after the second slash.
        let slashes = bare.indices.filter { bare[$0] == UInt8(ascii: "/") }
        guard slashes.count > 2 else { return bare }
        var host = bare[(slashes[1] + 1)..<slashes[2]]
        if host.last == UInt8(ascii: "\\") { host = host.dropLast() }
        let isOfStripe =
            host.elementsEqual("stripe.com".utf8)
            || host.suffix(11).elementsEqual(".stripe.com".utf8)
        return isOfStripe ? host : bare
    }

    private mutating func note(_ value: ArraySlice<UInt8>, path: UInt64) {
        if value.elementsEqual("0".utf8) || value.elementsEqual("null".utf8) { return }
        var hash = path
        for byte in value { hash = Self.step(hash, byte) }
        // Mixing each hash before the sum keeps two changes from cancelling each other.
        hash ^= hash >> 33
        hash = hash &* 0xFF51_AFD7_ED55_8CCD
        sum = sum &+ (hash ^ (hash >> 33))
    }

    /// FNV-1a, 64 bits: <http://www.isthe.com/chongo/tech/comp/fnv/>.
    private static let basis: UInt64 = 0xCBF2_9CE4_8422_2325

    private static func step(_ hash: UInt64, _ byte: UInt8) -> UInt64 {
        (hash ^ UInt64(truncatingIfNeeded: byte)) &* 0x100_0000_01B3
    }

    private static func hash(_ name: StaticString, from start: UInt64) -> UInt64 {
        name.withUTF8Buffer { bytes in
            var hash = step(start, UInt8(ascii: "."))
            for at in bytes.indices { unsafe hash = step(hash, bytes[at]) }
            return hash
        }
    }
}
