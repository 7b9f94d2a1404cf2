// Building parameters from optional Swift values: what is nil is not sent.

extension JSONValue {
    /// An object of the members that have a value.
    static func fields(_ members: [String: JSONValue?]) -> JSONValue {
        .object(members.compactMapValues { $0 })
    }

    /// A text, if there is one.
    static func optional(_ text: String?) -> JSONValue? {
        text.map { .string($0) }
    }

    /// A number, if there is one.
    static func optional(_ number: Int?) -> JSONValue? {
        number.map { .integer(Int64($0)) }
    }

    /// A flag, if there is one.
    static func optional(_ flag: Bool?) -> JSONValue? {
        flag.map { .bool($0) }
    }

    /// A word, if there is one.
    static func optional(_ word: (some OpenValue)?) -> JSONValue? {
        word.map { .string($0.rawValue) }
    }

    /// Texts by name; nil when there are none.
    static func texts(_ texts: [String: String]) -> JSONValue? {
        texts.isEmpty ? nil : .object(texts.mapValues { .string($0) })
    }

    /// A list of texts; nil when there are none.
    static func list(_ texts: [String]) -> JSONValue? {
        texts.isEmpty ? nil : .array(texts.map { .string($0) })
    }

    /// The value, or nil when it is an object without members, which a form cannot express.
    var unlessEmpty: JSONValue? {
        self == .object([:]) ? nil : self
    }
}
