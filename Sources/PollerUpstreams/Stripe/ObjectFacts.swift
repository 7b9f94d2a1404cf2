import JSONText
import SafeNumbers

/// The few fields of a Stripe object that decide what follows; everything else passes through.
///
/// *Problem*: every poll reads an object of some kilobytes, of which half a dozen members matter; a
/// decoder into values would build all of it.
/// *Approach*: one pass over the bytes that checks that they are JSON, skips what does not matter,
/// and takes the rest by name. The object itself goes on as the bytes that came.
struct ObjectFacts: Hashable, Sendable {
    var id: String?
    /// What it is: `source`, `payment_intent` or another type of Stripe's.
    var object: String?
    var status: String?
    /// The payment method of a source.
    var type: String?
    /// `reusable` or `single_use`, of sources.
    var usage: String?
    /// Seconds since 1970.
    var created: Int64?
    /// Whether real money is meant.
    var isLive: Bool?
    /// What else somebody waits for.
    var detail = ObjectDetail()

    /// Reads them from an object in one pass, the first of each name counting.
    ///
    /// - Parameter bytes: the whole text.
    /// - Throws: when the text is no JSON object, or `id` or `status` is no string. The other
    ///   fields stay nil when they are missing, null or something else.
    init(scanning bytes: [UInt8]) throws(JSONError) {
        self.init()
        var scanner = JSONScanner(bytes)
        try scanner.enterObject()
        while let name = try scanner.nextName() { try take(name, &scanner) }
        try scanner.finish()
    }

    private init() {}

    /// Takes one member.
    private mutating func take(
        _ name: JSONScanner.Literal,
        _ scanner: inout JSONScanner
    ) throws(JSONError) {
        // By length first: most of an object's sixty names need no comparison.
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

    /// Takes a member whose name is written with escapes, and so is longer than what it spells.
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

/// A fingerprint of what changes about one of Stripe's objects while its status stays, and that
/// somebody waits for.
///
/// | of | what counts |
/// |---|---|
/// | intents | `last_payment_error`, `last_setup_error`: `code`, `decline_code`, `charge`, `payment_method.id` |
/// | intents | `next_action`: `type`, `redirect_to_url.url` without its query, of Stripe's own pages the host |
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
    ) throws(JSONError) {
        try read(&scanner, fields, path: Self.hash(owner, from: Self.basis))
    }

    /// Takes the value of a top-level member that counts itself.
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
            note(field.isAddress ? Self.lasting(value) : value, path: path)
        }
    }

    /// What of an address is the same in every answer: nothing behind a `?`, and of Stripe's own pages only the host,
    /// because the token of an answer is in their path.
    private static func lasting(_ address: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let bare = address.prefix { $0 != UInt8(ascii: "?") }
        // Within quotation marks, and a slash may be escaped: the host begins behind the second one.
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
        // Mixed before it is added, so that two changes do not cancel each other.
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
