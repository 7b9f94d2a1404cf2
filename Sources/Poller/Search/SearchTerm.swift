import Crypto

/// An entry of the index by which watches are found: a fingerprint of a word that a watch has.
///
/// *Shape*: eight characters of base32, 39 bits of SHA-256 over the normal word. The first three are the
/// bucket, one of 16,384 in a partition: at a million watches of one account each holds some 250 entries,
/// in the small encoding of a hash (up to 512), at a hundred thousand 25. Fewer would leave that encoding
/// too soon and cost thrice, more would be keys with hardly anything in them. Two words with one
/// fingerprint are told apart by the record, which is read anyway.
///
/// What is in the index: the order, the charge, the sum, of each value of the metadata that are searched the
/// three longest words, and who is told by mail. People's words are folded (``SearchText/folded(_:)``);
/// releases before have not done so, and both forms are asked for. A source needs no entry, because a
/// watch's own name is made of it (``SearchedSource``). All else is found by looking at records, so far and
/// no further
/// (``ListPage/looked``).
package struct SearchTerm: Hashable, Sendable, CustomStringConvertible {
    /// Entries a watch may have: 64 bytes keep its hash in the small encoding.
    package static let countMax = 8
    /// Characters of an entry, and those of them that name its bucket.
    package static let length = 8
    package static let bucketLength = 3
    /// Of these, those that metadata and mail may have: the sum and the charge are known later.
    private static let ofMetadataMax = 4
    /// Words of one value.
    private static let wordsMax = 3

    private static let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)

    package let description: String

    /// The entry by which a text is found, which is normal (``SearchText/normal(_:)``): that of its
    /// longest word.
    init(text: String) {
        self.init(of: Self.words(of: text, most: 1).first ?? text)
    }

    /// The entries by which a text is found, which is normal: of its folded form, of what releases have
    /// made of it that did not fold, and of it as a whole, which an order's name has.
    static func forms(of text: String) -> [SearchTerm] {
        let words = [SearchText.folded(text), text].map { SearchTerm(text: $0) }
        return unique(words + [SearchTerm(of: text)], most: 3)
    }

    private init(of word: String) {
        let bytes = SHA256.hash(data: Array(word.utf8)).prefix(5)
        // The first letter is one of sixteen.
        let bits =
            bytes.reduce(0 as UInt64) { $0 << 8 | UInt64(truncatingIfNeeded: $1) } & (1 << 39 - 1)
        let letters = (0..<Self.length).map { at in
            Self.alphabet[Int(truncatingIfNeeded: bits >> (5 * (Self.length - 1 - at)) & 31)]
        }
        description = String(decoding: letters, as: UTF8.self)
    }

    /// The longest words of a normal text, of words as long the first.
    private static func words(of text: String, most: Int) -> [String] {
        let words = text.split(separator: " ").enumerated().sorted { one, other in
            one.element.count == other.element.count
                ? one.offset < other.offset : one.element.count > other.element.count
        }
        return words.prefix(most).map { String($0.element) }
    }

    /// The longest words of some values, folded: first the longest of each, so that none is without where
    /// there are too many.
    private static func words(ofValues values: [String]) -> [String] {
        let each = values.map { words(of: SearchText.folded($0), most: wordsMax) }
        return (0..<wordsMax).flatMap { at in each.compactMap { at < $0.count ? $0[at] : nil } }
    }

    /// The entry of a sum in the smallest unit, which no text is.
    init(amount: Amount) {
        self.init(of: "amount \(amount)")
    }

    /// The entries of a watch as it begins.
    package static func terms(of watch: NewWatch, keys: SearchKeys) -> [SearchTerm] {
        let source = entered(watch.key)?.description
        let own = [source, watch.order?.description].compactMap(\.self)
        let metadata =
            watch.metadata.isEmpty ? [] : SearchText.values(keys.names, metadata: watch.metadata)
        // An order is found by its whole name, and by its words where it has several: `#1001` by 1001, too.
        let order = [watch.order?.description].compactMap(\.self)
        let words = words(ofValues: order + metadata + SearchText.recipients(watch.notify))
        let texts = own.map(SearchText.normal)
        let further = words.filter { !texts.contains($0) }
        return unique(
            (texts + further).map { SearchTerm(of: $0) },
            most: texts.count + ofMetadataMax
        )
    }

    /// The entries that a change may add: the sum and the charge it tells of.
    package static func terms(after change: WatchChange) -> [SearchTerm] {
        guard let event = change.event else { return [] }
        let amount = change.events.lazy.compactMap(\.payment?.amount).first
        let charge = event.progress.charge.map { SearchText.normal("\($0)") }
        return [amount.map { SearchTerm(amount: $0) }, charge.map { SearchTerm(of: $0) }]
            .compactMap(\.self)
    }

    /// All entries of a watch, to put one into the index that was not in it.
    package static func terms(of snapshot: WatchSnapshot, keys: SearchKeys) -> [SearchTerm] {
        let amount = (snapshot.payment?.amount).map { SearchTerm(amount: $0) }
        let source = entered(snapshot.watch.key).map { SearchText.normal($0.description) }
        let texts = [source].compactMap(\.self) + own(snapshot).map(SearchText.normal)
        let order = [snapshot.watch.order?.description].compactMap(\.self)
        let words = texts + words(ofValues: order + values(snapshot, keys))
        return unique(
            [amount].compactMap(\.self) + words.map { SearchTerm(of: $0) },
            most: countMax
        )
    }

    /// The entry that releases before this one have made of a watch's source; nil where it is one of today.
    package static func former(of key: WatchKey) -> SearchTerm? {
        entered(key) == nil ? SearchTerm(of: SearchText.normal(key.source.description)) : nil
    }

    /// The source of a watch, where its name alone does not find it.
    ///
    /// That is an upstream's whose ids people type, when it has capitals and so may be typed without.
    /// Stripe's ids are copied, and case counts in them.
    private static func entered(_ key: WatchKey) -> SourceID? {
        let text = key.source.description
        return key.kind.isOfPayments || SearchText.normal(text) == text ? nil : key.source
    }

    /// What a watch is found by when somebody names no field, normal.
    static func texts(of snapshot: WatchSnapshot, _ keys: SearchKeys) -> [String] {
        let source = SearchText.normal(snapshot.watch.key.source.description)
        return [source] + (own(snapshot) + values(snapshot, keys)).map(SearchText.normal)
    }

    /// The ids of a watch but for its source's.
    private static func own(_ snapshot: WatchSnapshot) -> [String] {
        let watch = snapshot.watch
        return [watch.order?.description, watch.state.charge.charge?.description]
            .compactMap(\.self)
    }

    /// What people have written, and who is told by mail.
    private static func values(_ snapshot: WatchSnapshot, _ keys: SearchKeys) -> [String] {
        SearchText.values(keys.names, snapshot) + SearchText.recipients(snapshot.notify)
    }

    private static func unique(_ terms: [SearchTerm], most: Int) -> [SearchTerm] {
        var seen: Set<SearchTerm> = []
        return Array(terms.filter { seen.insert($0).inserted }.prefix(most))
    }
}

/// How watches are found without looking at records: by one of some entries of the index, or by their names.
package struct SearchLookup: Hashable, Sendable {
    /// Entries, of which what is looked for has one, unless it is the watch of one of the sources.
    package let terms: [SearchTerm]
    /// Sources, whose watches are found by their names.
    package let sources: [SearchedSource]

    init(terms: [SearchTerm], sources: [SearchedSource] = []) {
        self.terms = terms
        self.sources = sources
    }
}

/// A source that somebody looks for, of which nobody knows account and kind.
///
/// A watch's name in the store is a digest of account, kind and source (``WatchKey/id``), and accounts and
/// kinds are known: they are the lanes in which there have been watches. So its watches are asked for by
/// name, one in each lane, and need no entry of the index, which would weigh as much as a third of them.
package struct SearchedSource: Hashable, Sendable {
    /// The entry under which it may be all the same, made by a release before this one or because people
    /// type it (``SearchTerm``): then that is how it is found.
    package let term: SearchTerm
    private let typed: SourceID
    private let normal: SourceID

    /// A source as somebody has typed it; nil for what is none.
    init?(_ text: String) {
        // What breaks a rule of sources is looked for among other words alone.
        guard let typed = try? SourceID(text) else { return nil }
        self.typed = typed
        normal = SourceID(unchecked: SearchText.normal(text))
        term = SearchTerm(text: normal.description)
    }

    /// The watch of it that is in a lane, if any is; nil for a lane of something else.
    package func key(in lane: LaneID) -> WatchKey? {
        guard let (account, kind) = lane.accountAndKind else { return nil }
        let source = kind.isOfPayments ? typed : normal
        return WatchKey(account: account, source: source, kind: kind)
    }
}
