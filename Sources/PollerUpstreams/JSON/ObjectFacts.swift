/// The few fields of a Stripe object that decide what follows; everything else passes through.
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
    init(scanning bytes: [UInt8]) throws(JSONScanner.Malformed) {
        var scanner = JSONScanner(bytes)
        var facts = ObjectFacts()
        try scanner.members { (scanner, name) throws(JSONScanner.Malformed) in
            // By length first: most of an object's sixty names need no comparison.
            switch name.range.count {
            case 2 where scanner.spells(name, "id"):
                try Self.required(&scanner, &facts.id)
            case 6 where scanner.spells(name, "status"):
                try Self.required(&scanner, &facts.status)
            case 6 where scanner.spells(name, "object"):
                try Self.optional(&scanner, &facts.object)
            case 4 where scanner.spells(name, "type"):
                try Self.optional(&scanner, &facts.type)
            case 5 where scanner.spells(name, "usage"):
                try Self.optional(&scanner, &facts.usage)
            case 7 where scanner.spells(name, "created"):
                let range = try scanner.skip()
                facts.created =
                    facts.created ?? Int64(String(decoding: bytes[range], as: UTF8.self))
            case 8 where scanner.spells(name, "livemode"):
                let range = try scanner.skip()
                facts.isLive =
                    facts.isLive ?? Bool(String(decoding: bytes[range], as: UTF8.self))
            case 8 where scanner.spells(name, "receiver"):
                try facts.detail.read(&scanner, ObjectDetail.receiver, in: "receiver")
            case 11 where scanner.spells(name, "next_action"):
                try facts.detail.read(&scanner, ObjectDetail.nextAction, in: "next_action")
            case 12 where scanner.spells(name, "verification"):
                try facts.detail.read(&scanner, ObjectDetail.verification, in: "verification")
            case 15 where scanner.spells(name, "amount_received"):
                try facts.detail.read(&scanner, "amount_received")
            case 16 where scanner.spells(name, "last_setup_error"):
                try facts.detail.read(&scanner, ObjectDetail.error, in: "last_setup_error")
            case 17 where scanner.spells(name, "code_verification"):
                try facts.detail.read(&scanner, ObjectDetail.verification, in: "code_verification")
            case 18 where scanner.spells(name, "last_payment_error"):
                try facts.detail.read(&scanner, ObjectDetail.error, in: "last_payment_error")
            case 7... where name.hasEscapes: try Self.escaped(name, &scanner, &facts)
            default: try scanner.skip()
            }
        }
        try scanner.end()
        self = facts
    }

    private init() {}

    /// A name written with escapes, which is longer than what it spells.
    private static func escaped(
        _ name: JSONScanner.Literal,
        _ scanner: inout JSONScanner,
        _ facts: inout ObjectFacts
    ) throws(JSONScanner.Malformed) {
        switch scanner.text(name) {
        case "id": try required(&scanner, &facts.id)
        case "status": try required(&scanner, &facts.status)
        case "type": try optional(&scanner, &facts.type)
        case "usage": try optional(&scanner, &facts.usage)
        default: try scanner.skip()
        }
    }

    private static func required(
        _ scanner: inout JSONScanner,
        _ field: inout String?
    ) throws(JSONScanner.Malformed) {
        guard scanner.peek() == UInt8(ascii: "\"") else {
            throw scanner.malformed("id and status must be strings")
        }
        let literal = try scanner.string()
        guard let text = scanner.text(literal) else {
            throw scanner.malformed("id or status is no text")
        }
        field = field ?? text
    }

    private static func optional(
        _ scanner: inout JSONScanner,
        _ field: inout String?
    ) throws(JSONScanner.Malformed) {
        guard scanner.peek() == UInt8(ascii: "\"") else {
            try scanner.skip()
            return
        }
        let literal = try scanner.string()
        field = field ?? scanner.text(literal)
    }
}
