/// A JSON value as it is written in a text, byte for byte, to be passed on or read.
///
/// It is a range, not a tree: members and elements are values in the same bytes, found on demand.
/// Its text is valid JSON, because it was checked or because this system has written it.
package struct RawJSON: Hashable, Sendable, CustomStringConvertible {
    /// Texts that this system has written contain texts of upstreams, which are up to
    /// ``JSONScanner/depthMax`` deep.
    package static let depthMax = 4 * JSONScanner.depthMax

    let bytes: [UInt8]
    let range: Range<Int>

    /// A name with its value.
    package struct Member {
        /// The name with its escapes decoded.
        package let name: String
        package let value: RawJSON
    }

    /// Makes a value from a text that is known to be valid.
    package init(unchecked text: String) {
        self.init(unchecked: Array(text.utf8))
    }

    /// Makes a value from bytes that are known to be valid.
    package init(unchecked bytes: [UInt8]) {
        self.bytes = bytes
        range = bytes.indices
    }

    /// Makes a value from a text; `nil` if it is not JSON.
    package init?(_ text: String) { self.init(Array(text.utf8)) }

    /// Makes a value from bytes; `nil` if they are not JSON.
    package init?(_ bytes: [UInt8]) {
        var scanner = JSONScanner(bytes, depthMax: Self.depthMax)
        // This initialiser does not report the error.
        guard let range = try? scanner.skip(), (try? scanner.finish()) != nil else { return nil }
        self.init(bytes, range)
    }

    /// Makes a value from a part of a text that a ``JSONScanner`` has consumed.
    package init(_ bytes: [UInt8], _ range: Range<Int>) {
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
    package enum Kind: Sendable {
        case null, bool, number, string, array, object

        /// The name in messages: `a string`.
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

    /// The type of the value, according to its first byte.
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

    package var isNull: Bool { kind == .null }

    /// The text of a string; `nil` for any other value.
    package var string: String? {
        var scanner = JSONScanner(bytes, range: range, depthMax: Self.depthMax)
        // Any other value has no text.
        return (try? scanner.string()).flatMap { scanner.text($0) }
    }

    /// A number as it is written, for the caller to parse; `nil` for any other value.
    package var number: String? { kind == .number ? trimmed.description : nil }

    /// `true` or `false`; `nil` for any other value.
    package var bool: Bool? { kind == .bool ? trimmed.description == "true" : nil }

    /// The elements of an array; `nil` for any other value.
    package var elements: [RawJSON]? {
        guard kind == .array else { return nil }
        var scanner = JSONScanner(bytes, range: range, depthMax: Self.depthMax)
        var elements: [RawJSON] = []
        // An invalid text ends at its first error.
        try? {
            () throws(JSONError) in
            try scanner.enterArray()
            while try scanner.nextElement() { elements.append(RawJSON(bytes, try scanner.skip())) }
        }()
        return elements
    }

    /// The direct members of an object in their order; `nil` for any other value.
    package var members: [Member]? {
        guard kind == .object else { return nil }
        var members: [Member] = []
        eachMember { scanner, name, value, _ in
            let spelled = scanner.text(name) ?? ""
            members.append(Member(name: spelled, value: RawJSON(bytes, value)))
            return true
        }
        return members
    }

    /// Returns the value of a direct member of an object; `nil` if there is none.
    ///
    /// If a name occurs twice, which only foreign texts do, the first one counts.
    package func member(_ name: String) -> RawJSON? {
        var found: RawJSON?
        eachMember { scanner, spelled, value, _ in
            if scanner.spells(spelled, text: name) { found = RawJSON(bytes, value) }
            return found == nil
        }
        return found
    }

    /// Returns the object without its direct members of a name; nested ones remain.
    ///
    /// A hostile upstream may repeat a name, or write it with escapes; every such member is
    /// removed. A value that is not an object is returned unchanged.
    package func removing(member name: String) -> RawJSON {
        extracting(member: name).rest
    }

    /// Returns the object without its direct members of a name, and the value of the first of them.
    ///
    /// The same as ``removing(member:)`` and ``member(_:)``, in one pass.
    package func extracting(member name: String) -> (rest: RawJSON, value: RawJSON?) {
        var value: RawJSON?
        let rest = removingMembers { scanner, spelled, range in
            let isUnwanted = scanner.spells(spelled, text: name)
            if isUnwanted, value == nil { value = RawJSON(bytes, range) }
            return isUnwanted
        }
        return (rest, value)
    }

    /// Returns the object without its direct members of matching names.
    package func removing(_ isUnwanted: (String) -> Bool) -> RawJSON {
        removingMembers { scanner, name, _ in isUnwanted(scanner.text(name) ?? "") }
    }

    private func removingMembers(
        where isUnwanted: (JSONScanner, JSONScanner.Literal, Range<Int>) -> Bool
    ) -> RawJSON {
        var kept: [UInt8] = []
        // The bytes before this index are in `kept`, or are removed.
        var done = range.lowerBound
        var (hasLost, hasKept) = (false, false)
        eachMember { scanner, name, value, place in
            if isUnwanted(scanner, name, value) {
                if !hasLost { kept.reserveCapacity(range.count) }
                hasLost = true
                kept += bytes[done..<place.lowerBound]
                done = place.upperBound
            } else if !hasKept {
                hasKept = true
                // The comma before a member belongs to it, but the first one has none.
                if hasLost, bytes[done] == UInt8(ascii: ",") { done += 1 }
            }
            return true
        }
        guard hasLost else { return self }
        kept += bytes[done..<range.upperBound]
        return RawJSON(unchecked: kept)
    }

    /// Returns the text with a part replaced that ``member(_:)`` or ``elements`` has returned.
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

    /// Visits an object's members until `visit` returns `false`.
    ///
    /// It gets the name, the range of the value, and the range of the member, from the comma before it
    /// to the one after it.
    func eachMember(
        _ visit: (JSONScanner, JSONScanner.Literal, Range<Int>, Range<Int>) -> Bool
    ) {
        var scanner = JSONScanner(bytes, range: range, depthMax: Self.depthMax)
        // An invalid text ends at its first error.
        try? {
            () throws(JSONError) in
            try scanner.enterObject()
            var start = scanner.position
            while let name = try scanner.nextName() {
                let value = try scanner.skip()
                _ = scanner.peek()
                guard visit(scanner, name, value, start..<scanner.position) else { return }
                start = scanner.position
            }
        }()
    }

    private var trimmed: RawJSON {
        var scanner = JSONScanner(bytes, range: range, depthMax: Self.depthMax)
        // A scalar of valid JSON can be consumed.
        return RawJSON(bytes, (try? scanner.skip()) ?? range)
    }
}

/// The limits of a text from outside.
package struct JSONLimits: Sendable {
    /// The depth of nested values.
    package var depthMax: Int
    /// The number of all values, which limits their cost however short they are.
    package var valuesMax: Int
    /// The number of members of one object.
    package var membersMax: Int
    /// The name of members that hold another system's value; `nil` if there are none.
    ///
    /// Of such a value only the grammar, the depth and UTF-8 are checked: an upstream may repeat
    /// names and have more values than a request.
    package var foreignMember: String?

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
    /// Checks that `bytes[range]` is one value and nothing else: the grammar of RFC 8259, UTF-8,
    /// unique names in each object, and the limits.
    ///
    /// Errors: the first problem and its position.
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

    /// One pass over a text that checks its grammar and its limits.
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

        /// Checks another system's value, which this system passes on unread.
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
