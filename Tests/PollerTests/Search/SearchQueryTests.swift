import PollerIdentity
import Testing

@testable import PollerQueue
@testable import PollerWatches

/// Search queries as typed by users.
@Suite struct SearchQueryTests {
    private let now = Timestamp(ms: 1_800_000_000_000)

    @Test(
        "an invalid query is rejected with advice",
        arguments: [
            ("order=", "nothing behind order=; add a value"),
            ("oder=A77", "oder, which is not a field. Did you mean `order=A77`?"),
            ("basket=B42", "Did you mean `metadata.basket=B42`?"),
            ("basket!=\"B 42\",C", "Did you mean `metadata.basket!=\"B 42\",C`?"),
            ("custmer=doe", "Did you mean `customer=doe`?"),
            ("crea>2d", "Did you mean `created>2d`?"),
            ("colour=red", "Fields are source, order, account"),
            ("status=paid", "write payment=paid"),
            ("payment=payed", "it is one of awaiting_customer, processing"),
            ("state=opened", "it is one of open, closed, quarantined"),
            ("created=2d", "one instant of created; use > or <"),
            ("created>soon", "write 2026-11-23, 2026-11-23T09:30:00Z, or an age such as 2d"),
            ("created>1d,2d", "compares created with several values"),
            ("amount>much", "write 4990 in the smallest unit, or 49.90, or €49.90"),
            ("amount>1,2,3", "compares amount with several values"),
            ("order>A77", "cannot compare order with < or >"),
            ("customer=\"Jane", "a quotation mark that is not closed"),
            ("\"\"", "has an empty word"),
        ]
    )
    func refused(_ text: String, _ advice: String) throws {
        let error = #expect(throws: InvalidInput.self) { try query(text) }
        #expect(error?.message.contains(advice) == true, "\(text): \(error?.message ?? "taken")")
    }

    @Test("a query that is too long is rejected")
    func bounds() throws {
        #expect(throws: InvalidInput.self) { try query(String(repeating: "a", count: 1001)) }
        let many = (0..<21).map { "w\($0)" }
        #expect(throws: InvalidInput.self) { try query(many.joined(separator: " ")) }
        #expect(throws: InvalidInput.self) { try query("order=" + many.joined(separator: ",")) }
        #expect(try query(many.dropLast().joined(separator: " ")).conditions.count == 20)
    }

    @Test("an address with an operator is one word, and quotes keep their text together")
    func words() throws {
        #expect(try query("https://shop.example/?a=b").conditions.count == 1)
        #expect(try query("\"Jane Doe, Berlin\"").conditions.count == 1)
        #expect(try query("customer=\"Doe, Jane\" A77").conditions.count == 2)
        #expect(try query("   ").conditions.isEmpty)
    }

    @Test("a query outside the index reads the records instead")
    func indexed() throws {
        for text in [
            "A77", "order=A77", "amount=10.99", "€10.99", "customer=Doe status=failed",
            "customer=Do*",
        ] {
            #expect(try query(text).lookup != nil, "\(text)")
        }
        for text in ["status=failed", "amount>10", "order!=A77", "metadata.colour=red", ""] {
            #expect(try query(text).lookup == nil, "\(text)")
        }
        let own = try SearchKeys(["colour"])
        #expect(try SearchQuery("colour=red", keys: own, now: now).lookup != nil)
    }

    @Test("only possible source IDs are looked up by name, and only without an index entry")
    func named() throws {
        func sources(_ text: String) throws -> Int? { try query(text).lookup?.sources.count }
        #expect(try sources("src_aBc") == 1)
        #expect(try sources("source=src_1,src_2") == 2)
        #expect(try sources("\"Jane Doe\"") == 0)
        #expect(try sources("€10.99") == 0)
        #expect(try sources("order=A77") == 0)
        #expect(try sources("src_1 order=A77") == 0, "an entry is found at once")
        let source = try #require(try query("SRC_aBc").lookup?.sources.first)
        let names = ["shop/sources", "bank/http", "ep_1"].map { lane in
            source.key(in: LaneID(unchecked: lane)).map { "\($0.account) \($0.source)" }
        }
        #expect(names == ["shop SRC_aBc", "bank src_abc", nil], "in Stripe's ids case counts")
    }

    @Test("a watch has an entry for its source only if the source's name does not find it")
    func entries() throws {
        func count(_ source: String, _ kind: SourceKind, order: String? = nil) throws -> Int {
            let key = WatchKey(account: .main, source: SourceID(unchecked: source), kind: kind)
            let order = order.map(OrderID.init(unchecked:))
            let watch = try NewWatch(key: key, order: order)
            let entries = SearchEntries(of: watch, keys: .standard)
            return entries.terms.count + entries.words.count
        }
        #expect(try count("src_aBc", .source) == 0)
        #expect(try count("inv-7", .http) == 0)
        #expect(try count("INV-7", .http) == 1)
        #expect(try count("src_aBc", .source, order: "A77") == 1)
    }

    @Test(
        "text is found despite differences in case, accents and punctuation",
        arguments: [
            ("O’Brien, Pat", "obrien pat"), ("O'BRIEN", "obrien"), ("Anna Müller", "anna muller"),
            ("Mu\u{308}ller", "muller"), ("Łódź Øre straße", "lodz ore strasse"),
            ("jane.doe@example.com", "jane.doe@example.com"), ("A-77.", "a-77"),
            ("„Doe“ (Jane)", "doe jane"), ("2026/0815", "2026/0815"), ("Жук", "жук"), ("?!", "?!"),
        ]
    )
    func folded(_ written: String, _ typed: String) {
        #expect(TextForm.folded(written) == typed)
        #expect(SearchText.has(TextForm.normal(written), typed))
    }

    @Test("a bare word looks up an ID and words with this prefix, and a field looks up whole words")
    func lookups() throws {
        func entries(_ text: String) throws -> [String]? { try query(text).lookup?.entries }
        func term(_ text: String) -> String { SearchTerm(of: text).description }
        #expect(try entries("Müll") == [term("müll"), term("mull"), " mull"])
        let muller = [" muller ", " müller ", term("muller"), term("müller")]
        #expect(try entries("customer=Müller") == muller)
        #expect(try entries("customer=Doe") == [" doe ", term("doe")])
        #expect(try entries("customer=Do*") == [term("do"), " do"])
        #expect(
            try entries("order=#1001") == [" 1001 ", term("1001"), term("#1001")],
            "signs before a word are compared with the record"
        )
        #expect(
            try entries("x") == [SearchTerm(of: "x").description, " x "],
            "one letter is a word"
        )
        let long = "a.very.long.address@example.com"
        #expect(try entries("email=\(long)") == [SearchTerm(of: long).description])
        #expect(try entries(long)?.last == " a.very.long.address@", "the first 20 bytes")
        let whole = try query(long).lookup?.wholeFirst
        #expect(whole?.entries == [SearchTerm(of: long).description], "before all that begins so")
        #expect(try query("Müll").lookup?.wholeFirst == nil)
        #expect(try entries("anna mülle")?.last == " mulle", "of several words the longest")
    }

    @Test("a prefix search is a scan, and needs two characters of its longest word")
    func scans() throws {
        func isScan(_ text: String) throws -> Bool { ListQuery(search: try query(text)).isScan }
        for text in ["or", "order=OR*", "mü", "\"a be\"", "status=failed", "metadata.colour=red"] {
            #expect(try isScan(text), "\(text)")
        }
        for text in [
            "order=or", "amount=10.99", "source=src_1", "or order=A77", "a", "a.", "#1", "+4",
            "\"a b\"", "order=#1*",
        ] {
            #expect(try !isScan(text), "\(text)")
        }
        #expect(!SearchText.begins("anna", "a.") && SearchText.begins("vitamin a", "a."))
        #expect(!SearchText.begins("#1001", "#1") && SearchText.begins("#1", "#1"))
    }

    @Test("of several lookups the most selective is used")
    func narrowest() throws {
        func last(_ text: String) throws -> String? { try query(text).lookup?.entries.last }
        for text in ["jo müller", "müller jo"] {
            #expect(try last(text) == " muller", "the longer word, also of two short ones")
        }
        let order = try query("order=A77").lookup?.entries
        for text in ["amount=10.99 order=A77", "customer=Mü* order=A77", "mü order=A77"] {
            #expect(try query(text).lookup?.entries == order, "\(text)")
        }
        let source = try query("source=src_1 customer=Jo*").lookup
        #expect(source?.sources.count == 1, "rather by names than by a beginning")
    }

    @Test("a truncated word ends with a whole character")
    func cut() {
        let word = IndexedWord(beginningOf: "абвгдежзийклм")
        #expect(word?.description == "абвгдежзий")
        let odd = IndexedWord(beginningOf: "a" + String(repeating: "ж", count: 10))
        #expect(odd?.description == "a" + String(repeating: "ж", count: 9))
        #expect(IndexedWord("two words") == nil && IndexedWord("+++") == nil)
        #expect(IndexedWord("#1001")?.description == "1001")
    }

    @Test("words are found by prefix, but not from within")
    func beginnings() {
        for (value, typed) in [
            ("müller, anna", "müll"), ("müller, anna", "ann"), ("ord-2026-1", "ord-20"),
            ("jane doe", "jane d"),
        ] {
            #expect(SearchText.begins(value, typed), "\(value): \(typed)")
        }
        for (value, typed) in [
            ("müller", "üller"), ("anna", "a"), ("ord-2026-1", "2026"), ("jane doe", "oe"),
        ] {
            #expect(!SearchText.begins(value, typed), "\(value): \(typed)")
        }
    }

    @Test("a range of days is a condition")
    func created() throws {
        let (from, to) = (Timestamp(ms: 1_700_000_000_000), Timestamp(ms: 1_710_000_000_000))
        let query = try SearchQuery("", keys: .standard, now: now, created: (from, to))
        #expect(query.conditions.count == 2)
        #expect(query.created.from == from && query.created.to == to)
        let narrow = try SearchQuery("created<1d created>=2020-01-01", keys: .standard, now: now)
        #expect(narrow.created.from == now + .seconds(-86_400) && narrow.created.to == nil)
        #expect(
            SearchQuery.instant("2026-11-23", at: now)?.description == "2026-11-23T00:00:00.000Z"
        )
        #expect(SearchQuery.instant("soon", at: now) == nil)
    }

    @Test("an index entry has the longest word of each value before a second word of any value")
    func crowded() throws {
        let key = WatchKey(account: .main, source: SourceID(unchecked: "src_1"), kind: .source)
        let watch = try NewWatch(
            key: key,
            notify: [NotifyURL("mailto:jane@example.com")],
            metadata:
                #"{"order":"X9","customer":"Anna Maria Müller-Lüdenscheidt","email":"am@example.com"}"#
        )
        let entries = SearchEntries(of: watch, keys: .standard)
        let words = ["muller-ludenscheidt", "x9", "am@example.com", "jane@example.com"]
        #expect(Set(entries.words.map(\.description)) == Set(words))
        #expect(entries.terms.isEmpty, "all of them are short")
        #expect(entries.stored == entries.words.map { " \($0)" }.joined(separator: ""))
    }

    @Test("invalid metadata keys are rejected")
    func keys() throws {
        #expect(try SearchKeys(["order", "order", "invoice.no"]).names == ["order", "invoice.no"])
        #expect(throws: InvalidInput.self) { try SearchKeys(["two words"]) }
        #expect(throws: InvalidInput.self) { try SearchKeys((0..<9).map { "k\($0)" }) }
    }

    private func query(_ text: String) throws -> SearchQuery {
        try SearchQuery(text, keys: .standard, now: now)
    }
}
