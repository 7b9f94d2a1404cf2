import JSONText
import Poller

/// The fields of a request's object, read one by one with messages that name them.
struct RequestFields {
    /// Entries of metadata, and the lengths of their parts: Stripe's own limits, roughly.
    private static let metadataCountMax = 50
    private static let metadataNameMax = 64
    private static let metadataValueMax = 500

    private let members: [JSONValue.Member]

    init(_ members: [JSONValue.Member]) {
        self.members = members
    }

    /// The fields of an object that may have `known` ones only; `what` it is, such as "a limit".
    init(
        _ json: JSONValue,
        of what: String,
        such example: String,
        known: [String]
    ) throws(Problem) {
        guard case .object(let members) = json else {
            throw Problem(
                .wrongType,
                "The body must be \(what), an object such as \(example), not \(json.typeName)."
            )
        }
        for member in members where !known.contains(member.name) {
            let shown = String(member.name.prefix(64))
            throw Problem(
                .unknownField,
                "\(shown) is not known; \(what) has \(known.joined(separator: ", ")).",
                field: shown
            )
        }
        self.init(members)
    }

    /// Whether a field is there and not null.
    func isGiven(_ name: String) -> Bool {
        if case nil = value(name) { return false }
        if case .null = value(name) { return false }
        return true
    }

    /// A string; nil when it is absent or null.
    func string(_ name: String) throws(Problem) -> String? {
        switch value(name) {
        case nil, .null: return nil
        case .string(let text): return text
        case .some(let other): throw wrongType(name, "a string", other)
        }
    }

    /// A whole number within a range; nil when it is absent or null.
    func integer(_ name: String, in range: ClosedRange<Int>) throws(Problem) -> Int? {
        guard let text = try number(name) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw Problem(
                .invalidValue,
                "\(name) must be a whole number of \(range.lowerBound) to \(range.upperBound).",
                field: name
            )
        }
        return number
    }

    /// A number within a range, or 0 where that means "none"; nil when it is absent or null.
    func decimal(_ name: String, in range: ClosedRange<Double>) throws(Problem) -> Double? {
        guard let text = try number(name) else { return nil }
        guard let number = Double(text), number == 0 || range.contains(number) else {
            throw Problem(
                .invalidValue,
                "\(name) must be a number of \(range.lowerBound) to \(range.upperBound), or 0 for "
                    + "no limit.",
                field: name
            )
        }
        return number
    }

    /// True or false; nil when it is absent or null.
    func flag(_ name: String) throws(Problem) -> Bool? {
        switch value(name) {
        case nil, .null: return nil
        case .bool(let flag): return flag
        case .some(let other): throw wrongType(name, "true or false", other)
        }
    }

    /// An array of strings; empty when it is absent or null.
    func strings(_ name: String) throws(Problem) -> [String] {
        switch value(name) {
        case nil, .null: return []
        case .array(let elements):
            var texts: [String] = []
            for (index, element) in elements.enumerated() {
                guard case .string(let text) = element else {
                    throw wrongType("\(name)[\(index)]", "a string", element)
                }
                texts.append(text)
            }
            return texts
        case .some(let other): throw wrongType(name, "an array of strings", other)
        }
    }

    /// A span such as `5m`; nil when it is absent or null.
    func duration(_ name: String) throws(Problem) -> Duration? {
        guard case .number = value(name) else {
            guard let text = try string(name) else { return nil }
            guard let duration = Duration(text: text) else {
                throw Problem(
                    .invalidValue,
                    "\(name) must be a whole number and a unit, not negative: 90s, 5m, 36h or 7d.",
                    field: name
                )
            }
            return duration
        }
        throw Problem(
            .wrongType,
            "\(name) must be a string with a unit such as \"90s\" or \"5m\", not a number.",
            field: name
        )
    }

    /// An object of strings as JSON text; empty when it is absent, null or empty.
    func metadata(_ name: String) throws(Problem) -> String {
        let entries = try pairs(name).map { "\(JSONWriter.literal($0)):\(JSONWriter.literal($1))" }
        return entries.isEmpty ? "" : "{\(entries.joined(separator: ","))}"
    }

    /// An object of strings; empty when it is absent, null or empty.
    func texts(_ name: String) throws(Problem) -> [String: String] {
        // Of a name given twice the last one counts, as everywhere in JSON.
        Dictionary(try pairs(name)) { _, last in last }
    }

    private func pairs(_ name: String) throws(Problem) -> [(String, String)] {
        let entries: [JSONValue.Member]
        switch value(name) {
        case nil, .null: return []
        case .object(let members): entries = members
        case .some(let other): throw wrongType(name, "an object of strings", other)
        }
        guard entries.count <= Self.metadataCountMax else {
            throw Problem(
                .invalidValue,
                "\(name) has \(entries.count) entries; at most \(Self.metadataCountMax) are allowed.",
                field: name
            )
        }
        var parts: [(String, String)] = []
        for entry in entries {
            guard (1...Self.metadataNameMax).contains(entry.name.utf8.count),
                Self.isClean(entry.name)
            else {
                throw Problem(
                    .invalidValue,
                    "\(name) has a name that is empty, longer than \(Self.metadataNameMax) bytes, "
                        + "or holds control characters.",
                    field: name
                )
            }
            let field = "\(name).\(entry.name)"
            guard case .string(let text) = entry.value else {
                throw wrongType(field, "a string", entry.value)
            }
            guard text.utf8.count <= Self.metadataValueMax, Self.isClean(text) else {
                throw Problem(
                    .invalidValue,
                    "\(field) must be at most \(Self.metadataValueMax) bytes without control "
                        + "characters.",
                    field: field
                )
            }
            parts.append((entry.name, text))
        }
        return parts
    }

    private func number(_ name: String) throws(Problem) -> String? {
        switch value(name) {
        case nil, .null: return nil
        case .number(let text): return text
        case .some(let other): throw wrongType(name, "a number", other)
        }
    }

    private func value(_ name: String) -> JSONValue? {
        members.first { $0.name == name }?.value
    }

    private func wrongType(_ field: String, _ wanted: String, _ found: JSONValue) -> Problem {
        Problem(.wrongType, "\(field) must be \(wanted), not \(found.typeName).", field: field)
    }

    /// Metadata ends in mails and logs, where a line break could begin something of its own.
    private static func isClean(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }
}
