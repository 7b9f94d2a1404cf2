/// A value of a request's body.
enum JSONValue {
    case null
    case bool(Bool)
    /// As it was written: who reads it knows what it may be.
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([Member])

    /// A name with its value; names are unique within an object.
    struct Member {
        let name: String
        let value: JSONValue
    }

    /// What it is, for messages: `a string`.
    var typeName: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}
