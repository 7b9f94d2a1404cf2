import Crypto
package import PollerIdentity
import PollerPayments
package import PollerQueue

/// An entry of the index by which watches are found: a fingerprint of a word that a watch has.
///
/// *Shape*: eight characters of base32, 39 bits of SHA-256 over the normal word. The first three are the
/// bucket, one of 16,384 in a partition: at a million watches of one account each holds some 250 entries,
/// in the small encoding of a hash (up to 512), at a hundred thousand 25. Fewer would leave that encoding
/// too soon and cost thrice, more would be keys with hardly anything in them. Two words with one
/// fingerprint are told apart by the record, which is read anyway.
///
/// The charge and the sum have fingerprints, and so has each text that is not a single word of ``IndexedWord/bytesMax``
/// bytes at most: an order of several words, a long email address. All other words of people are in the index as they
/// are (``IndexedWord``). A source needs no entry, because a watch's own name contains it (``SearchedSource``). All
/// other fields are found by reading a limited number of records (`ListPage.looked`).
package struct SearchTerm: Hashable, Sendable, CustomStringConvertible {
    /// The maximum number of entries of a watch: 64 bytes keep its hash in the small encoding.
    package static let countMax = 8
    /// The length of an entry, and of the part that names its bucket.
    package static let length = 8
    package static let bucketLength = 3
    /// The maximum number of words of metadata and email, because the sum and the charge are added later.
    static let ofPeopleMax = 4

    private static let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)

    package let description: String

    /// Creates the entry of a normal text (`TextForm.normal`).
    init(of word: String) {
        let bytes = SHA256.hash(data: Array(word.utf8)).prefix(5)
        // The first letter is one of sixteen.
        let bits =
            bytes.reduce(0 as UInt64) { $0 << 8 | UInt64(truncatingIfNeeded: $1) } & (1 << 39 - 1)
        let letters = (0..<Self.length).map { at in
            Self.alphabet[Int(truncatingIfNeeded: bits >> (5 * (Self.length - 1 - at)) & 31)]
        }
        description = String(decoding: letters, as: UTF8.self)
    }

    /// Creates the entry of a sum in the smallest unit, which differs from that of any text.
    init(amount: Amount) {
        self.init(of: "amount \(amount)")
    }

    /// Returns the source of a watch, if its ID alone does not find it.
    ///
    /// That is the case for an upstream whose IDs are typed by people, if it has capitals and may be typed without
    /// them. Stripe's IDs are copied, and their case matters.
    static func entered(_ key: WatchKey) -> SourceID? {
        let text = key.source.description
        return key.kind.isOfPayments || TextForm.normal(text) == text ? nil : key.source
    }

    /// Removes duplicates, and all entries above the limit of a watch.
    static func unique(_ terms: [SearchTerm]) -> [SearchTerm] {
        var seen: Set<SearchTerm> = []
        return Array(terms.filter { seen.insert($0).inserted }.prefix(countMax))
    }
}

/// A lookup without reading records: by entries of the index, or by sources.
package struct SearchLookup: Hashable, Sendable {
    /// The entries of the index: fingerprints (``SearchTerm``), and words or prefixes (``IndexedWord/whole``,
    /// ``IndexedWord/beginning``).
    ///
    /// Each match has one of them, unless it is the watch of one of the sources.
    package let entries: [String]
    /// Entries that are preferred: if any watch has one of them, only such watches match.
    ///
    /// A person pastes an order of more than ``IndexedWord/bytesMax`` bytes: a million others may have the same prefix.
    package let whole: [String]
    /// The sources, whose watches are found by their IDs.
    package let sources: [SearchedSource]
    /// The size of the shortest word of the lookup in bytes; zero for sums, which many watches share.
    ///
    /// Of two lookups the one with the longer word usually finds less.
    let weight: Int

    init(
        entries: [String],
        whole: [String] = [],
        sources: [SearchedSource] = [],
        weight: Int = 0
    ) {
        var seen: Set<String> = []
        self.entries = entries.filter { seen.insert($0).inserted }
        self.whole = whole
        self.sources = sources
        self.weight = weight
    }

    /// The lookup of only ``whole``; `nil` without entries.
    package var wholeFirst: SearchLookup? {
        whole.isEmpty ? nil : SearchLookup(entries: whole)
    }

    /// Creates a lookup of sums in any currency.
    init(_ money: [EnteredAmount]) {
        self.init(entries: money.flatMap(\.amounts).map { SearchTerm(amount: $0).description })
    }

    /// Creates a lookup of watches with one of these normal texts as a value, or as a word of a value.
    init(whole texts: [String]) {
        let words = texts.map { SearchText.longestWords(of: [$0]).first ?? $0 }
        self.init(
            entries: texts.flatMap(Self.whole),
            weight: words.map(\.utf8.count).min() ?? 0
        )
    }

    /// Creates a lookup of watches with a word of this normal prefix, or with this ID.
    init(beginning text: String) {
        let id = SearchTerm(of: text).description
        let longest = SearchText.longestWords(of: [text]).first ?? ""
        guard let word = IndexedWord(beginningOf: longest), word.isBeginning else {
            self.init(entries: [id] + Self.whole(text), weight: longest.utf8.count)
            return
        }
        let isLong = longest.utf8.count > IndexedWord.bytesMax
        self.init(
            entries: [id, SearchTerm(of: longest).description, word.beginning],
            whole: isLong ? [id, SearchTerm(of: longest).description] : [],
            weight: word.description.utf8.count
        )
    }

    /// Whether an entry is a prefix of words, of which there may be very many.
    package static func isBeginning(_ entry: String) -> Bool {
        entry.hasPrefix(" ") && !entry.hasSuffix(" ")
    }

    /// Whether the lookup uses prefixes of words.
    var hasBeginnings: Bool { entries.contains(where: Self.isBeginning) }

    /// The selectivity of the lookup.
    ///
    /// Whole words come before prefixes, then lookups without sources before those with sources, then longer words.
    var rank: (Int, Int, Int) { (hasBeginnings ? 0 : 1, sources.isEmpty ? 1 : 0, weight) }

    /// Returns the entries of a whole word: the sorted word, and its fingerprint, by which charges are found.
    private static func whole(_ text: String) -> [String] {
        let words = [SearchText.longestWords(of: [text]).first ?? text, text]
        return words.compactMap { IndexedWord($0)?.whole }
            + words.map { SearchTerm(of: $0).description }
    }
}

/// A searched source with an unknown account and kind.
///
/// A watch's name in the store is a digest of account, kind and source (`WatchKey.id`), and accounts and
/// kinds are known: they are the lanes in which there have been watches. So its watches are asked for by
/// name, one in each lane, and need no entry of the index, which would weigh as much as a third of them.
package struct SearchedSource: Hashable, Sendable {
    /// The entry under which it may be indexed all the same, because people type it (``SearchTerm``); then it is found
    /// by that.
    package let term: SearchTerm
    private let typed: SourceID
    private let normal: SourceID

    /// Parses a typed source; `nil` for an invalid one.
    init?(_ text: String) {
        // A text that is not a valid source is searched only as a word.
        guard let typed = try? SourceID(text) else { return nil }
        self.typed = typed
        normal = SourceID(unchecked: TextForm.normal(text))
        term = SearchTerm(of: normal.description)
    }

    /// Returns the key of its watch in a lane; `nil` for a lane of deliveries.
    package func key(in lane: LaneID) -> WatchKey? {
        guard let (account, kind) = lane.accountAndKind else { return nil }
        let source = kind.isOfPayments ? typed : normal
        return WatchKey(account: account, source: source, kind: kind)
    }
}
