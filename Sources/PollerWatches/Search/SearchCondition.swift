import PollerIdentity
import PollerPayments
import PollerWire

/// A condition that a watch must fulfil.
package struct SearchCondition: Hashable, Sendable {
    /// The subject of a condition.
    package enum Subject: Hashable, Sendable {
        /// All searched texts.
        case anything
        case field(SearchField)
        /// The metadata value with a name.
        case metadata(String)
    }

    /// The value of a comparison.
    enum Operand: Hashable, Sendable {
        /// One of these texts, in normal form (`TextForm.normal`).
        case texts([String])
        case money([EnteredAmount])
        case time(Timestamp)
    }

    package let subject: Subject
    let comparison: SearchComparison
    let operand: Operand
    /// The values as they were typed, because case may matter in an upstream's IDs.
    private let typed: [String]
    /// The amount that a single word may mean, in addition to its text.
    private let amount: EnteredAmount?
    /// Whether `Mül*` means all words with this prefix.
    private var takesBeginnings = true

    init(metadata name: String, _ value: String) {
        subject = .metadata(name)
        comparison = .equal
        operand = .texts([TextForm.normal(value)])
        typed = [value]
        amount = nil
        // Programs search this way, with texts of their customers.
        takesBeginnings = false
    }

    /// Creates a condition on the time of creation.
    init(created comparison: SearchComparison, _ instant: Timestamp) {
        subject = .field(.created)
        self.comparison = comparison
        operand = .time(instant)
        typed = []
        amount = nil
    }

    /// Parses a word of a query.
    init(_ word: SearchWord, keys: SearchKeys, now: Timestamp) throws(InvalidInput) {
        typed = word.values
        // A greater age is an earlier time.
        let isOfAge = word.values.contains { Duration(text: $0) != nil }
        let field = word.name.flatMap { SearchField(rawValue: $0.lowercased()) }
        let isOfTime = field == .created || field == .closed
        comparison = isOfAge && isOfTime ? word.comparison.reversed : word.comparison
        amount = word.name == nil ? word.values.first.flatMap { EnteredAmount($0) } : nil
        guard let name = word.name else {
            subject = .anything
            operand = .texts(word.values.map(TextForm.normal))
            return
        }
        if let field {
            subject = .field(field)
            operand = try Self.operand(word, field, now)
        } else if let key = Self.metadata(name, keys) {
            subject = .metadata(key)
            operand = .texts(word.values.map(TextForm.normal))
        } else {
            throw SearchQuery.mistake(Self.unknown(word, name, keys))
        }
        guard !comparison.isOrdered || isOrdered else {
            throw SearchQuery.mistake("cannot compare \(name) with < or >; use = or !=")
        }
        guard !comparison.isOrdered || hasOneValue(of: word) else {
            throw SearchQuery.mistake("compares \(name) with several values; use one")
        }
    }

    private func hasOneValue(of word: SearchWord) -> Bool {
        if case .money(let amounts) = operand { amounts.count == 1 } else { word.values.count == 1 }
    }

    /// The payment states that are not a status of any upstream.
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

    /// Returns the names of all fields.
    private static func known(_ keys: SearchKeys) -> [String] {
        let fields = SearchField.allCases.map(\.rawValue)
        return fields + keys.names.filter { !fields.contains($0) }
    }

    /// Returns the error for an unknown field, which suggests a field with nearly the same name, or else the metadata
    /// with this name.
    private static func unknown(_ word: SearchWord, _ name: String, _ keys: SearchKeys) -> String {
        let known = known(keys)
        let meant =
            Spelling.nearestOrLonger(than: name.lowercased(), among: known) ?? "metadata.\(name)"
        return
            "asks for \(name), which is not a field. Did you mean "
            + "`\(word.text(named: meant))`? Fields are "
            + known.joined(separator: ", ") + "; any other metadata is metadata.NAME"
    }

    private static func operand(
        _ word: SearchWord,
        _ field: SearchField,
        _ now: Timestamp
    ) throws(InvalidInput) -> Operand {
        switch field {
        case .amount:
            var amounts: [EnteredAmount] = []
            for value in word.amounts { amounts.append(try amount(value)) }
            return .money(amounts)
        case .created, .closed:
            return .time(try time(word, field, now))
        default:
            let texts = word.values.map(TextForm.normal)
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
                        + "write payment=\(text) for the payment state"
                )
            }
            return .texts(texts)
        }
    }

    private static func amount(_ text: String) throws(InvalidInput) -> EnteredAmount {
        if let amount = EnteredAmount(text, isField: true) { return amount }
        throw SearchQuery.mistake(
            "has an invalid amount: \(text); write 4990 in the smallest unit, or 49.90, "
                + "or €49.90"
        )
    }

    /// Parses a day, an instant, or an age: older is more.
    private static func time(
        _ word: SearchWord,
        _ field: SearchField,
        _ now: Timestamp
    ) throws(InvalidInput) -> Timestamp {
        guard word.comparison.isOrdered else {
            throw SearchQuery.mistake("asks for one instant of \(field.rawValue); use > or <")
        }
        let text = word.values.first ?? ""
        guard let instant = SearchQuery.instant(text, at: now) else {
            throw SearchQuery.mistake(
                "has an invalid time: \(text); write 2026-11-23, 2026-11-23T09:30:00Z, "
                    + "or an age such as 2d"
            )
        }
        return instant
    }
}

extension SearchCondition {
    /// Whether a watch fulfils the condition.
    func matches(_ snapshot: WatchSnapshot, _ keys: SearchKeys) -> Bool {
        switch operand {
        case .texts(let texts):
            let isFound = texts.contains { has($0, snapshot, keys) } || isAmount(of: snapshot)
            return comparison == .notEqual ? !isFound : isFound
        case .money(let amounts):
            guard let amount = snapshot.payment?.amount else { return comparison == .notEqual }
            let currency = snapshot.payment?.currency
            let operand = amounts.compactMap { $0.amount(in: currency) }
            return comparison == .notEqual
                ? !operand.contains(amount)
                : operand.contains { comparison.holds(amount, $0) }
        case .time(let time):
            return instant(of: snapshot).map { comparison.holds($0, time) } ?? false
        }
    }

    private func instant(of snapshot: WatchSnapshot) -> Timestamp? {
        guard subject == .field(.closed) else { return snapshot.watch.createdAt }
        return snapshot.closed == nil ? nil : snapshot.lastEvent?.polledAt
    }

    /// Whether a single word is the amount to pay.
    private func isAmount(of snapshot: WatchSnapshot) -> Bool {
        guard let amount, let payment = snapshot.payment, let due = payment.amount else {
            return false
        }
        return amount.amount(in: payment.currency) == due
    }

    private func has(_ text: String, _ snapshot: WatchSnapshot, _ keys: SearchKeys) -> Bool {
        let watch = snapshot.watch
        switch subject {
        case .anything:
            let ids = [watch.key.source.description, watch.state.charge.charge?.description]
            let searched =
                [watch.order?.description].compactMap(\.self)
                + SearchText.values(keys.names, snapshot) + SearchText.recipients(snapshot.notify)
            return ids.compactMap(\.self).contains { SearchText.has(TextForm.normal($0), text) }
                || searched.contains { SearchText.begins(TextForm.normal($0), text) }
        case .metadata(let name):
            return SearchText.values([name], snapshot).contains { value in
                let value = TextForm.normal(value)
                return beginning(text).map { SearchText.begins(value, $0) }
                    ?? SearchText.has(value, text)
            }
        case .field(.endpoint):
            return snapshot.notify.contains { $0.description.lowercased().contains(text) }
        case .field(.error):
            guard let error = snapshot.lastError else { return text == "none" }
            return text == "any" || error.lowercased().contains(text)
        case .field(let field):
            let values = field.texts(of: snapshot, keys)
            guard field == .order, let beginning = beginning(text) else {
                return values.contains(text)
            }
            return values.contains { SearchText.begins($0, beginning) }
        }
    }

    /// Returns the prefix in `Mül*`; `nil` for a whole text.
    private func beginning(_ text: String) -> String? {
        guard takesBeginnings, text.count > 1, text.last == "*" else { return nil }
        return String(text.dropLast())
    }

    /// Whether no open watch can fulfil it.
    var isOfClosed: Bool {
        switch (subject, operand) {
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
            && operand == .texts([ListQuery.State.open.rawValue])
    }

    /// Returns an index lookup that finds every matching watch; `nil` when records must be read.
    func lookup(among keys: SearchKeys) -> SearchLookup? {
        guard comparison == .equal else { return nil }
        switch (subject, operand) {
        case (.field(.amount), .money(let amounts)):
            return SearchLookup(amounts)
        case (.anything, .texts(let texts)):
            let sources = typed.compactMap(SearchedSource.init)
            let money = amount.map { SearchLookup([$0]).entries } ?? []
            let words = texts.map { SearchLookup(beginning: $0) }
            return SearchLookup(
                entries: words.flatMap(\.entries) + money,
                whole: words.flatMap(\.whole),
                sources: sources,
                weight: words.map(\.weight).min() ?? 0
            )
        case (.field(.source), .texts(let texts)):
            return SearchLookup(
                entries: texts.map { SearchTerm(of: $0).description },
                sources: typed.compactMap(SearchedSource.init),
                weight: texts.map(\.utf8.count).min() ?? 0
            )
        case (.field(.order), .texts(let texts)):
            return lookup(of: texts)
        case (.metadata(let name), .texts(let texts)) where keys.names.contains(name):
            return lookup(of: texts)
        default:
            return nil
        }
    }

    private func lookup(of texts: [String]) -> SearchLookup {
        let lookups = texts.map { text in
            beginning(text).map { SearchLookup(beginning: $0) } ?? SearchLookup(whole: [text])
        }
        return SearchLookup(
            entries: lookups.flatMap(\.entries),
            weight: lookups.map(\.weight).min() ?? 0
        )
    }
}
