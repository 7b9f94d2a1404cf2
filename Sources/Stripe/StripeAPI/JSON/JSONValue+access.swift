extension JSONValue {
    /// The member of an object; nil for everything else.
    public subscript(_ key: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members[key]
    }

    /// The text, if it is one.
    public var string: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The whole number, if it is one.
    public var integer: Int? {
        guard case .integer(let number) = self else { return nil }
        return Int(number)
    }

    /// The flag, if it is one.
    public var bool: Bool? {
        guard case .bool(let flag) = self else { return nil }
        return flag
    }

    /// The items, if it is a list.
    public var array: [JSONValue]? {
        guard case .array(let items) = self else { return nil }
        return items
    }

    /// The members, if it is an object.
    public var object: [String: JSONValue]? {
        guard case .object(let members) = self else { return nil }
        return members
    }

    /// This value with another laid over it: objects are merged member by member, anything else is replaced.
    func merging(_ other: JSONValue) -> JSONValue {
        guard case .object(let mine) = self, case .object(let theirs) = other else { return other }
        return .object(mine.merging(theirs) { $0.merging($1) })
    }
}
