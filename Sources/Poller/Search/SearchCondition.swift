/// One thing that must hold of a watch that is looked for.
package struct SearchCondition: Hashable, Sendable {
    /// What it is about.
    package enum Subject: Hashable, Sendable {
        /// Whatever is searched.
        case anything
        case field(SearchField)
        /// What the metadata say under a name.
        case metadata(String)
    }

    /// What it is compared with.
    enum Wanted: Hashable, Sendable {
        /// One of these, normal (``SearchText/normal(_:)``).
        case texts([String])
        case numbers([Amount])
        case time(Timestamp)
    }

    package let subject: Subject
    let comparison: SearchComparison
    let wanted: Wanted
    /// The values as they were typed: in an upstream's ids case may count.
    private let typed: [String]

    /// What the metadata say under a name.
    init(metadata name: String, _ value: String) {
        subject = .metadata(name)
        comparison = .equal
        wanted = .texts([SearchText.normal(value)])
        typed = [value]
    }

    /// Reads a word of a query.
    init(_ word: SearchWord, keys: SearchKeys, now: Timestamp) throws(InvalidInput) {
        typed = word.values
        // Who asks for more of an age asks for an earlier time.
        let isOfAge = word.values.contains { Duration(text: $0) != nil }
        let field = word.name.flatMap { SearchField(rawValue: $0.lowercased()) }
        let isOfTime = field == .created || field == .closed
        comparison = isOfAge && isOfTime ? word.comparison.reversed : word.comparison
        guard let name = word.name else {
            subject = .anything
            wanted = .texts(word.values.map(SearchText.normal))
            return
        }
        if let field {
            subject = .field(field)
            wanted = try Self.wanted(word, field, now)
        } else if let key = Self.metadata(name, keys) {
            subject = .metadata(key)
            wanted = .texts(word.values.map(SearchText.normal))
        } else {
            throw SearchQuery.mistake(
                "asks for \(name), which nothing is searched by\(Self.guess(name, keys)); known are "
                    + Self.known(keys).joined(separator: ", ")
                    + ", and metadata.NAME"
            )
        }
        guard !comparison.isOrdered || isOrdered else {
            throw SearchQuery.mistake("cannot ask whether \(name) is more or less; use = or !=")
        }
        guard !comparison.isOrdered || word.values.count == 1 else {
            throw SearchQuery.mistake("compares \(name) with several values; one must do")
        }
    }

    /// Words for the money that are no status of any upstream.
    private static let ofPayments: Set<String> = Set(
        [
            PaymentState.paid, .authorised, .refunded, .partiallyPaid, .partiallyRefunded,
            .disputed, .reversed, .awaitingCustomer,
        ].map(\.rawValue)
    )

    private var isOrdered: Bool {
        if case .field(let field) = subject { field.isOrdered } else { false }
    }

    private static func metadata(_ name: String, _ keys: SearchKeys) -> String? {
        let prefix = "metadata."
        if name.hasPrefix(prefix), name.count > prefix.count {
            return String(name.dropFirst(prefix.count))
        }
        return keys.names.first { $0 == name }
    }

    /// The names that may be asked for.
    private static func known(_ keys: SearchKeys) -> [String] {
        let fields = SearchField.allCases.map(\.rawValue)
        return fields + keys.names.filter { !fields.contains($0) }
    }

    private static func guess(_ name: String, _ keys: SearchKeys) -> String {
        let known = known(keys)
        // The same letters but for one or two, or the beginning.
        let near = known.first { word in
            word.hasPrefix(name) || Set(word).symmetricDifference(name).count < 2
        }
        return near.map { " (did you mean \($0)?)" } ?? ""
    }

    private static func wanted(
        _ word: SearchWord,
        _ field: SearchField,
        _ now: Timestamp
    ) throws(InvalidInput) -> Wanted {
        switch field {
        case .amount:
            var numbers: [Amount] = []
            for value in word.values { numbers.append(try amount(value)) }
            return .numbers(numbers)
        case .created, .closed:
            return .time(try time(word, field, now))
        default:
            let texts = word.values.map(SearchText.normal)
            for text in texts {
                guard let words = field.words, !words.contains(text) else { continue }
                throw SearchQuery.mistake(
                    "asks for \(field.rawValue)=\(text); it is one of "
                        + words.joined(separator: ", ")
                )
            }
            if field == .status, let text = texts.first(where: ofPayments.contains) {
                throw SearchQuery.mistake(
                    "asks for status=\(text), which no upstream says of a source; "
                        + "write payment=\(text) for what is true of the money"
                )
            }
            return .texts(texts)
        }
    }

    /// In the smallest unit, or with a point and decimals as people write it.
    private static func amount(_ text: String) throws(InvalidInput) -> Amount {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let digits = parts.allSatisfy { part in
            !part.isEmpty && part.utf8.allSatisfy { (0x30...0x39).contains($0) }
        }
        if digits, parts.count <= 2 {
            let decimals = parts.count == 2 ? parts.last.map(String.init) ?? "" : ""
            let padded = decimals.count == 1 ? decimals + "0" : decimals
            if let amount = Amount(decimal: (parts.first ?? "") + padded) { return amount }
        }
        throw SearchQuery.mistake(
            "has an amount that is none: \(text); write 4990 in the smallest unit, or 49.90"
        )
    }

    /// A day, an instant, or how long ago: older is more.
    private static func time(
        _ word: SearchWord,
        _ field: SearchField,
        _ now: Timestamp
    ) throws(InvalidInput) -> Timestamp {
        guard word.comparison.isOrdered else {
            throw SearchQuery.mistake("asks for one instant of \(field.rawValue); use > or <")
        }
        let text = word.values.first ?? ""
        if let age = Duration(text: text) { return now + (.zero - age) }
        let instant =
            Timestamp(rfc3339: text) ?? Timestamp(rfc3339: "\(text)T00:00:00.000Z")
            ?? Timestamp(rfc3339: "\(text.dropLast()).000Z")
        guard let instant else {
            throw SearchQuery.mistake(
                "has a time that is none: \(text); write 2026-11-23, 2026-11-23T09:30:00Z, "
                    + "or an age such as 2d"
            )
        }
        return instant
    }
}

extension SearchCondition {
    /// Whether it holds of a watch.
    func matches(_ snapshot: WatchSnapshot, _ keys: SearchKeys) -> Bool {
        switch wanted {
        case .texts(let texts):
            let isFound = texts.contains { has($0, snapshot, keys) }
            return comparison == .notEqual ? !isFound : isFound
        case .numbers(let numbers):
            guard let amount = snapshot.payment?.amount else { return comparison == .notEqual }
            return comparison == .notEqual
                ? !numbers.contains(amount)
                : numbers.contains { comparison.holds(amount, $0) }
        case .time(let time):
            return instant(of: snapshot).map { comparison.holds($0, time) } ?? false
        }
    }

    private func instant(of snapshot: WatchSnapshot) -> Timestamp? {
        guard subject == .field(.closed) else { return snapshot.watch.createdAt }
        return snapshot.closed == nil ? nil : snapshot.lastEvent?.polledAt
    }

    private func has(_ text: String, _ snapshot: WatchSnapshot, _ keys: SearchKeys) -> Bool {
        switch subject {
        case .anything:
            return SearchTerm.texts(of: snapshot, keys).contains { SearchText.has($0, text) }
        case .metadata(let name):
            return SearchText.values([name], snapshot).contains {
                SearchText.has(SearchText.normal($0), text)
            }
        case .field(.endpoint):
            return snapshot.notify.contains { $0.description.lowercased().contains(text) }
        case .field(.error):
            guard let error = snapshot.lastError else { return text == "none" }
            return text == "any" || error.lowercased().contains(text)
        case .field(let field):
            return field.texts(of: snapshot, keys).contains(text)
        }
    }

    /// Whether no open watch can fulfil it.
    var isOfClosed: Bool {
        switch (subject, wanted) {
        case (.field(.closed), _): true
        case (.field(.ended), _): comparison == .equal
        case (.field(.state), .texts(let texts)):
            comparison == .equal && !texts.contains(ListQuery.State.open.rawValue)
        default: false
        }
    }

    /// Whether no closed watch can fulfil it.
    var isOfOpen: Bool {
        subject == .field(.state) && comparison == .equal
            && wanted == .texts([ListQuery.State.open.rawValue])
    }

    /// How every watch is found of which it holds; nil when only looking at records tells.
    func lookup(among keys: SearchKeys) -> SearchLookup? {
        guard comparison == .equal else { return nil }
        switch (subject, wanted) {
        case (.field(.amount), .numbers(let numbers)):
            return SearchLookup(terms: numbers.map { SearchTerm(amount: $0) })
        case (.anything, .texts(let texts)), (.field(.source), .texts(let texts)):
            return SearchLookup(
                terms: texts.flatMap(SearchTerm.forms),
                sources: typed.compactMap(SearchedSource.init)
            )
        case (.field(.order), .texts(let texts)):
            return SearchLookup(terms: texts.flatMap(SearchTerm.forms))
        case (.metadata(let name), .texts(let texts)) where keys.names.contains(name):
            return SearchLookup(terms: texts.flatMap(SearchTerm.forms))
        default:
            return nil
        }
    }
}
