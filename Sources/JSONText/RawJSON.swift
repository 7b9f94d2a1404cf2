/// A JSON value as it stands in a text, byte for byte: what is passed on, and what is read from.
///
/// It is a place, not a tree: members and elements are values in the same bytes, found when somebody
/// asks. Whoever holds one knows that its text is JSON, because it was checked or because this system
/// has written it.
package struct RawJSON: Hashable, Sendable, CustomStringConvertible {
    /// What we have written holds texts of upstreams, which are up to ``JSONScanner/depthMax`` deep.
    private static let depthMax = 4 * JSONScanner.depthMax

    private let bytes: [UInt8]
    private let range: Range<Int>

    /// A name with its value.
    package struct Member {
        /// The name with its escapes resolved.
        package let name: String
        /// What it stands for.
        package let value: RawJSON
    }

    /// Wraps a text somebody has already parsed.
    package init(unchecked text: String) {
        self.init(unchecked: Array(text.utf8))
    }

    /// Wraps bytes somebody has already parsed.
    package init(unchecked bytes: [UInt8]) {
        self.bytes = bytes
        range = bytes.indices
    }

    /// A text that may be JSON; nil when it is not.
    package init?(_ text: String) { self.init(Array(text.utf8)) }

    /// Bytes that may be JSON; nil when they are not.
    package init?(_ bytes: [UInt8]) {
        var scanner = JSONScanner(bytes, depthMax: Self.depthMax)
        // Why it is none is of no use to somebody who only wants to know whether.
        guard let range = try? scanner.skip(), (try? scanner.finish()) != nil else { return nil }
        self.init(bytes, range)
    }

    private init(_ bytes: [UInt8], _ range: Range<Int>) {
        self.bytes = bytes
        self.range = range
    }

    /// The bytes of the value, without those around it.
    package var utf8: ArraySlice<UInt8> { bytes[range] }

    /// The text of the value.
    package var description: String { String(decoding: bytes[range], as: UTF8.self) }

    package static func == (lhs: RawJSON, rhs: RawJSON) -> Bool { lhs.utf8 == rhs.utf8 }

    package func hash(into hasher: inout Hasher) { hasher.combine(utf8) }
}

extension RawJSON {
    /// What a value is.
    package enum Kind: Sendable {
        case null, bool, number, string, array, object

        /// For messages: `a string`.
        package var name: String {
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

    /// What it is, which its first byte tells.
    package var kind: Kind {
        var scanner = JSONScanner(bytes, range: range, depthMax: Self.depthMax)
        return switch scanner.peek() {
        case UInt8(ascii: "{"): .object
        case UInt8(ascii: "["): .array
        case UInt8(ascii: "\""): .string
        case UInt8(ascii: "t"), UInt8(ascii: "f"): .bool
        case UInt8(ascii: "n"): .null
        default: .number
        }
    }

    /// Whether it is `null`.
    package var isNull: Bool { kind == .null }

    /// A string's text; nil for anything else.
    package var string: String? {
        var scanner = JSONScanner(bytes, range: range, depthMax: Self.depthMax)
        // What is no string has none.
        return (try? scanner.string()).flatMap { scanner.text($0) }
    }

    /// A number as it is written: who reads it knows what it may be; nil for anything else.
    package var number: String? { kind == .number ? trimmed.description : nil }

    /// `true` or `false`; nil for anything else.
    package var bool: Bool? { kind == .bool ? trimmed.description == "true" : nil }

    /// An array's elements; nil for anything else.
    package var elements: [RawJSON]? {
        guard kind == .array else { return nil }
        var scanner = JSONScanner(bytes, range: range, depthMax: Self.depthMax)
        var elements: [RawJSON] = []
        // A text that lies about being JSON ends where the lie is.
        try? {
            () throws(JSONError) in
            try scanner.enterArray()
            while try scanner.nextElement() { elements.append(RawJSON(bytes, try scanner.skip())) }
        }()
        return elements
    }

    /// An object's own members in their order; nil for anything else.
    package var members: [Member]? {
        guard kind == .object else { return nil }
        var members: [Member] = []
        eachMember { name, value, _ in
            members.append(Member(name: name, value: value))
            return true
        }
        return members
    }

    /// The value of one of an object's own members; nil when there is none.
    ///
    /// Of two members of one name, which only texts of others have, the first one counts.
    package func member(_ name: String) -> RawJSON? {
        var found: RawJSON?
        eachMember { spelled, value, _ in
            if spelled == name { found = value }
            return found == nil
        }
        return found
    }

    /// The object without its own members of a name; nested ones of that name stay.
    ///
    /// A hostile upstream may give a name twice, or write it with escapes; every one of them goes.
    /// What is no object comes back unchanged.
    package func removing(member name: String) -> RawJSON {
        removing { $0 == name }
    }

    /// The object without its own members of such names.
    package func removing(_ isUnwanted: (String) -> Bool) -> RawJSON {
        var kept: [UInt8] = []
        var isFirst = true
        var hasLost = false
        var rest = range.lowerBound
        eachMember { spelled, _, place in
            if isFirst, kept.isEmpty { kept += bytes[rest..<place.lowerBound] }
            rest = place.upperBound
            if isUnwanted(spelled) {
                hasLost = true
            } else {
                // The comma before a member is its own, but the first one has none.
                let hasComma = bytes[place.lowerBound] == UInt8(ascii: ",")
                kept += bytes[place].dropFirst(isFirst && hasComma ? 1 : 0)
                isFirst = false
            }
            return true
        }
        return hasLost ? RawJSON(unchecked: kept + bytes[rest..<range.upperBound]) : self
    }

    /// The text with another in the place of a part of it, which ``member(_:)`` or ``elements`` has found.
    package func replacing(_ part: RawJSON, with other: RawJSON) -> RawJSON {
        precondition(
            range.lowerBound <= part.range.lowerBound && part.range.upperBound <= range.upperBound,
            "it is a part of another text"
        )
        return RawJSON(
            unchecked: Array(
                bytes[range.lowerBound..<part.range.lowerBound] + other.utf8
                    + bytes[part.range.upperBound..<range.upperBound]
            )
        )
    }

    /// Visits an object's members with their places, each from the comma before it to the one behind,
    /// until `visit` has seen enough.
    private func eachMember(_ visit: (String, RawJSON, Range<Int>) -> Bool) {
        var scanner = JSONScanner(bytes, range: range, depthMax: Self.depthMax)
        // A text that lies about being JSON ends where the lie is.
        try? {
            () throws(JSONError) in
            try scanner.enterObject()
            var start = scanner.position
            while let name = try scanner.nextName() {
                let value = try scanner.skip()
                _ = scanner.peek()
                let spelled = scanner.text(name) ?? ""
                guard visit(spelled, RawJSON(bytes, value), start..<scanner.position) else {
                    return
                }
                start = scanner.position
            }
        }()
    }

    private var trimmed: RawJSON {
        var scanner = JSONScanner(bytes, range: range, depthMax: Self.depthMax)
        // A scalar of a text that is JSON can be taken.
        return RawJSON(bytes, (try? scanner.skip()) ?? range)
    }
}

/// What a text from outside may cost at most.
package struct JSONLimits: Sendable {
    /// Values inside values.
    package var depthMax: Int
    /// Values in all: bounds what they cost however short they are.
    package var valuesMax: Int
    /// Members of one object.
    package var membersMax: Int
    /// The name of members that hold another system's value; nil when there are none.
    ///
    /// Of such a value only the grammar, the depth and UTF-8 are checked: an upstream may repeat names and
    /// have more values than a request.
    package var foreignMember: String?

    /// Sets the limits.
    package init(
        depthMax: Int,
        valuesMax: Int,
        membersMax: Int,
        foreignMember: String? = nil
    ) {
        self.depthMax = depthMax
        self.valuesMax = valuesMax
        self.membersMax = membersMax
        self.foreignMember = foreignMember
    }
}

extension RawJSON {
    /// Checks `bytes[range]`, which must be one value and nothing else: the grammar of RFC 8259,
    /// UTF-8, names that are unique in their object, and the limits.
    ///
    /// Errors: what is wrong first, and where.
    package init(
        checking bytes: [UInt8],
        range: Range<Int>? = nil,
        limits: JSONLimits
    ) throws(JSONError) {
        let range = range ?? bytes.indices
        var check = Check(scanner: JSONScanner(bytes, range: range), limits: limits)
        let value = try check.value(depth: 0)
        try check.scanner.finish()
        self.init(bytes, value)
    }

    /// One walk over a text that checks its form and its limits.
    private struct Check {
        var scanner: JSONScanner
        let limits: JSONLimits
        private var values = 0

        init(scanner: JSONScanner, limits: JSONLimits) {
            self.scanner = scanner
            self.limits = limits
        }

        mutating func value(depth: Int) throws(JSONError) -> Range<Int> {
            guard depth < limits.depthMax else {
                throw scanner.error("values are nested deeper than \(limits.depthMax)")
            }
            values += 1
            guard values <= limits.valuesMax else {
                throw scanner.error(
                    "more than \(limits.valuesMax) values; send several smaller requests"
                )
            }
            let first = scanner.peek()
            let start = scanner.position
            switch first {
            case UInt8(ascii: "\""): _ = try scanner.decode(try scanner.string())
            case UInt8(ascii: "{"): try members(depth: depth)
            case UInt8(ascii: "["):
                try scanner.enterArray()
                while try scanner.nextElement() { _ = try value(depth: depth + 1) }
            default: try scanner.skip()
            }
            return start..<scanner.position
        }

        /// Another system's value, which this one passes on unread.
        private mutating func foreign() throws(JSONError) {
            let place = try scanner.skip()
            guard String(validating: scanner.bytes[place], as: UTF8.self) != nil else {
                throw JSONError("the value is not valid UTF-8", at: place.lowerBound)
            }
        }

        private mutating func members(depth: Int) throws(JSONError) {
            var names: [String] = []
            try scanner.enterObject()
            while let literal = try scanner.nextName() {
                let name = try scanner.decode(literal)
                let place = literal.range.lowerBound - 1
                guard !names.contains(name) else {
                    throw JSONError("the name is given twice in one object", at: place)
                }
                guard names.count < limits.membersMax else {
                    throw JSONError(
                        "an object may have at most \(limits.membersMax) members",
                        at: place
                    )
                }
                names.append(name)
                if name == limits.foreignMember {
                    try foreign()
                } else {
                    _ = try value(depth: depth + 1)
                }
            }
        }
    }
}
