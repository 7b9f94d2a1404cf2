import SafeNumbers

/// Form parameters with brackets, as sent by Stripe's SDKs: `owner[name]=A&items[0][sku]=B&types[]=C`.
///
/// Parameters form a tree and are accessed by their path. Unknown parameters are rejected by name (``allow(_:)``), as
/// at Stripe, which finds misspelt parameters in tests.
struct Form: Sendable {
    /// The maximum number of parameters; more than Stripe's largest documented requests need.
    static let fieldsMax = 1000

    /// The maximum depth; the deepest documented parameter has five levels.
    static let depthMax = 8
    /// The valid amounts: Stripe's limit is eight digits for most currencies, twelve digits for all.
    static let amountRange = 1...999_999_999_999
    /// The latest valid timestamp, as at Stripe.
    private static let secondsMax = 4_294_967_294

    private(set) var fields: [String: FormNode] = [:]

    init() {}

    /// Parses `a=b&c[d]=e`.
    init(parsing bytes: some Collection<UInt8>) throws(APIError) {
        var count = 0
        for pair in bytes.split(separator: UInt8(ascii: "&")) {
            count += 1
            guard count <= Self.fieldsMax else {
                throw APIError.invalid("Too many parameters: at most \(Self.fieldsMax).")
            }
            let parts = pair.split(
                separator: UInt8(ascii: "="),
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            guard let first = parts.first else { continue }
            let name = Self.decode(first)
            var value = ""
            if let text = parts.dropFirst().first { value = Self.decode(text) }
            let path = Self.split(name)
            guard path.first?.isEmpty == false, path.count <= Self.depthMax,
                Self.insert(value, at: path[...], into: &fields)
            else {
                throw APIError.invalid("Invalid parameter: \(name)", param: name)
            }
        }
    }

    /// The value at a path such as `["owner", "name"]`.
    subscript(_ path: String...) -> String? { self[path: path] }

    /// The value at a path created at run time.
    subscript(path path: [String]) -> String? {
        var current = fields
        for name in path.dropLast() {
            guard case .fields(let next) = current[name] else { return nil }
            current = next
        }
        guard let last = path.last, case .text(let text) = current[last] else { return nil }
        return text
    }

    /// Returns the elements of a list parameter such as `source_order[items][0][amount]`, in order.
    func items(_ path: String...) -> [Form] {
        var current = fields
        for name in path {
            guard case .fields(let next) = current[name] else { return [] }
            current = next
        }
        return current.sorted { (Int(decimal: $0.key) ?? 0) < (Int(decimal: $1.key) ?? 0) }
            .compactMap {
                guard case .fields(let fields) = $0.value else { return nil }
                var form = Form()
                form.fields = fields
                return form
            }
    }

    /// Returns the values of a list, or the single value of a plain parameter.
    func list(_ name: String) -> [String] {
        switch fields[name] {
        case .text(let text): [text]
        case .fields(let items):
            items.sorted { (Int(decimal: $0.key) ?? 0) < (Int(decimal: $1.key) ?? 0) }.compactMap {
                guard case .text(let text) = $0.value else { return nil }
                return text
            }
        case nil: []
        }
    }

    /// Returns the values directly below a name such as `metadata`.
    func texts(_ name: String) -> [String: String] {
        guard case .fields(let items) = fields[name] else { return [:] }
        return items.compactMapValues {
            guard case .text(let text) = $0 else { return nil }
            return text
        }
    }

    /// Returns a positive integer, for example an amount.
    func positive(_ name: String) throws(APIError) -> Int? {
        guard let text = self[name] else { return nil }
        guard let number = Int(decimal: text) else {
            throw APIError.invalid(
                "Invalid integer: \(text)",
                code: "parameter_invalid_integer",
                param: name
            )
        }
        guard Self.amountRange.contains(number) else {
            throw APIError.invalid(
                "This value must be greater than or equal to 1.",
                code: "parameter_invalid_integer",
                param: name
            )
        }
        return number
    }

    /// Reads `created=…` or `created[gt|gte|lt|lte]=…`, in seconds.
    func range(_ name: String) throws(APIError) -> ClosedRange<Int> {
        func bound(_ end: String) throws(APIError) -> Int? {
            guard let text = self[name, end] else { return nil }
            guard let seconds = Int(decimal: text), (0...Self.secondsMax).contains(seconds) else {
                throw APIError.invalid("Invalid timestamp: \(text)", param: "\(name)[\(end)]")
            }
            return seconds
        }
        if let text = self[name] {
            guard let seconds = Int(decimal: text) else {
                throw APIError.invalid("Invalid timestamp: \(text)", param: name)
            }
            return seconds...seconds
        }
        let lowest = max(try bound("gte") ?? 0, (try bound("gt") ?? -1) + 1)
        let highest = min(try bound("lte") ?? .max, (try bound("lt") ?? .max) - 1)
        guard lowest <= highest else { return -1...(-1) }
        return lowest...highest
    }

    /// Reads `true` or `false`.
    ///
    /// Other values such as `1` are rejected, to reveal clients that send them.
    func flag(_ name: String) throws(APIError) -> Bool? {
        switch self[name] {
        case nil: nil
        case "true": true
        case "false": false
        case let text?: throw APIError.invalid("Invalid boolean: \(text)", param: name)
        }
    }

    /// Whether a payment is confirmed off session: `off_session=true`, or a reason.
    var isOffSession: Bool { ["true", "one_off", "recurring"].contains(self["off_session"] ?? "") }

    /// Returns the value of a parameter with a fixed set of values.
    func choice(_ name: String, _ words: [String]) throws(APIError) -> String? {
        guard let text = self[name], !text.isEmpty else { return nil }
        guard words.contains(text) else {
            throw APIError.invalid(
                "Invalid \(name): must be one of \(words.joined(separator: ", "))",
                param: name
            )
        }
        return text
    }

    /// Returns a required, non-empty value.
    func required(_ name: String) throws(APIError) -> String {
        guard let text = self[name], !text.isEmpty else { throw APIError.missing(name) }
        return text
    }

    /// Returns Stripe's metadata after an update: an empty value unsets a key, an empty parameter unsets all keys.
    func updated(
        metadata: [String: String],
        at path: [String] = ["metadata"]
    ) throws(APIError) -> [String: String] {
        if self[path: path] == "" { return [:] }
        var metadata = metadata
        for name in names(below: path) {
            guard let text = self[path: path + [name]] else { continue }
            metadata[name] = text.isEmpty ? nil : text
        }
        // Stripe's documented limits: 50 keys of 40 characters, values of 500.
        guard metadata.count <= 50,
            metadata.allSatisfy({ $0.key.count <= 40 && $0.value.count <= 500 })
        else {
            throw APIError.invalid(
                "Metadata has at most 50 keys of 40 characters with values of 500 characters.",
                param: "metadata"
            )
        }
        return metadata
    }

    /// Returns the sorted names of the parameters below a path; empty when there are none.
    func names(below path: [String]) -> [String] {
        var current = fields
        for name in path {
            guard case .fields(let next) = current[name] else { return [] }
            current = next
        }
        return current.keys.sorted()
    }

    /// Returns whether a parameter or one below it is present.
    func has(_ path: String...) -> Bool {
        self[path: path] != nil || !names(below: path).isEmpty
    }

    /// Rejects every parameter below a path that is not in `names`; without a path, of the whole request.
    func allow(_ names: Set<String>, below path: [String] = []) throws(APIError) {
        for name in self.names(below: path) where !names.contains(name) {
            let full = Self.parameterName(path + [name])
            throw APIError.invalid(
                "Received unknown parameter: \(full)",
                code: "parameter_unknown",
                param: full
            )
        }
    }

    /// Converts `["card", "token"]` to `card[token]`.
    static func parameterName(_ path: [String]) -> String {
        (path.first ?? "") + path.dropFirst().map { "[\($0)]" }.joined()
    }

    /// Converts `a[b][]` to `["a", "b", ""]`.
    private static func split(_ name: String) -> [Substring] {
        guard let bracket = name.firstIndex(of: "["), name.hasSuffix("]") else {
            return [name[...]]
        }
        let inner = name[name.index(after: bracket)...].dropLast()
        var path = [name[..<bracket]]
        var rest = inner
        while let end = rest.firstRange(of: "][") {
            path.append(rest[..<end.lowerBound])
            rest = rest[end.upperBound...]
        }
        path.append(rest)
        return path
    }

    /// Inserts a value at a path; returns `false` if a value of another shape is already there.
    private static func insert(
        _ value: String,
        at path: ArraySlice<Substring>,
        into fields: inout [String: FormNode]
    ) -> Bool {
        guard let head = path.first else { return false }
        let rest = path.dropFirst()
        let name = head.isEmpty ? listIndex(for: rest.first, in: fields) : String(head)
        if rest.isEmpty {
            if case .fields = fields[name] { return false }
            fields[name] = .text(value)
            return true
        }
        var inner: [String: FormNode] = [:]
        switch fields[name] {
        case .text: return false
        case .fields(let existing): inner = existing
        case nil: break
        }
        guard insert(value, at: rest, into: &inner) else { return false }
        fields[name] = .fields(inner)
        return true
    }

    /// Returns the list index for `[]`: `items[][a]=1&items[][b]=2` fills one element until a name repeats.
    private static func listIndex(for member: Substring?, in fields: [String: FormNode]) -> String {
        let last = String(fields.count - 1)
        if let member, case .fields(let item) = fields[last], item[String(member)] == nil {
            return last
        }
        return String(fields.count)
    }

    /// Decodes percent-encoding of forms.
    ///
    /// Like browsers, it keeps a `%` that is not followed by two digits.
    private static func decode(_ bytes: some Collection<UInt8>) -> String {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"):
                output.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard let escaped = hexByte(rest.prefix(2)) else {
                    output.append(byte)
                    continue
                }
                output.append(escaped)
                rest = rest.dropFirst(2)
            default:
                output.append(byte)
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static func hexByte(_ digits: some Collection<UInt8>) -> UInt8? {
        guard digits.count == 2, !digits.contains(UInt8(ascii: "+")) else { return nil }
        return UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
    }
}

/// A parameter: a value, or nested parameters; a list is an object with numeric names.
indirect enum FormNode: Sendable {
    case text(String)
    case fields([String: FormNode])
}
