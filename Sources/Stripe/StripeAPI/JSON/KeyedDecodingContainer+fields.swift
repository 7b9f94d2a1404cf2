/// Reading an object's fields by the API's own names.
extension KeyedDecodingContainer<AnyKey> {
    /// Reads a field that must be there.
    func required<Value: Decodable>(_ name: String) throws -> Value {
        try decode(Value.self, forKey: AnyKey(name))
    }

    /// Reads a field that may be missing or null.
    func optional<Value: Decodable>(_ name: String) throws -> Value? {
        try decodeIfPresent(Value.self, forKey: AnyKey(name))
    }

    /// Reads an integer that may be missing or null; a fraction is an error that names the field.
    func optional(_ name: String) throws -> Int? {
        try decodeIfPresent(Int.self, forKey: AnyKey(name))
    }

    /// Reads the id of an object that stands there as its id or, expanded, as a whole.
    func reference(_ name: String) throws -> String? {
        try decodeIfPresent(ObjectReference.self, forKey: AnyKey(name))?.id
    }
}

/// The id of an expandable field; see <https://docs.stripe.com/api/expanding_objects>.
private struct ObjectReference: Decodable {
    let id: String?

    init(from decoder: any Decoder) throws {
        // A failed attempt is how Codable asks for a type; the last one reports the real error.
        if let id = try? decoder.singleValueContainer().decode(String.self) {
            self.id = id
        } else {
            id = try decoder.container(keyedBy: AnyKey.self).optional("id")
        }
    }
}
