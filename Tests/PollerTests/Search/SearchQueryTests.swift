import Testing

@testable import Poller

/// The words somebody types to find watches.
@Suite struct SearchQueryTests {
    private let now = Timestamp(ms: 1_800_000_000_000)

    @Test(
        "what is no query is refused with what to write instead",
        arguments: [
            ("order=", "nothing behind order=; write what it is to be"),
            ("oder=A77", "oder, which nothing is searched by (did you mean order?)"),
            ("colour=red", "known are source, order, account"),
            ("status=paid", "write payment=paid"),
            ("payment=payed", "it is one of awaiting_customer, processing"),
            ("state=opened", "it is one of open, closed, quarantined"),
            ("created=2d", "one instant of created; use > or <"),
            ("created>soon", "write 2026-11-23, 2026-11-23T09:30:00Z, or an age such as 2d"),
            ("created>1d,2d", "compares created with several values"),
            ("amount>much", "write 4990 in the smallest unit, or 49.90"),
            ("order>A77", "cannot ask whether order is more or less"),
            ("customer=\"Jane", "a quotation mark that is not closed"),
            ("\"\"", "looks for an empty word"),
        ]
    )
    func refused(_ text: String, _ advice: String) throws {
        let error = #expect(throws: InvalidInput.self) { try query(text) }
        #expect(error?.message.contains(advice) == true, "\(text): \(error?.message ?? "taken")")
    }

    @Test("what is far too much to be a question is refused")
    func bounds() throws {
        #expect(throws: InvalidInput.self) { try query(String(repeating: "a", count: 1001)) }
        let many = (0..<21).map { "w\($0)" }
        #expect(throws: InvalidInput.self) { try query(many.joined(separator: " ")) }
        #expect(throws: InvalidInput.self) { try query("order=" + many.joined(separator: ",")) }
        #expect(try query(many.dropLast().joined(separator: " ")).conditions.count == 20)
    }

    @Test("an address that holds an operator is a word, and quotes keep what they enclose whole")
    func words() throws {
        #expect(try query("https://shop.example/?a=b").conditions.count == 1)
        #expect(try query("\"Jane Doe, Berlin\"").conditions.count == 1)
        #expect(try query("customer=\"Doe, Jane\" A77").conditions.count == 2)
        #expect(try query("   ").conditions.isEmpty)
    }

    @Test("what is not in the index is said not to be: such a search looks at records")
    func indexed() throws {
        for text in ["A77", "order=A77", "amount=10.99", "customer=Doe status=failed"] {
            #expect(try query(text).lookup != nil, "\(text)")
        }
        for text in ["status=failed", "amount>10", "order!=A77", "metadata.colour=red", ""] {
            #expect(try query(text).lookup == nil, "\(text)")
        }
        let own = try SearchKeys(["colour"])
        #expect(try SearchQuery("colour=red", keys: own, now: now).lookup != nil)
    }

    @Test("only what may be a source is asked for by name, and only where no entry does")
    func named() throws {
        func sources(_ text: String) throws -> Int? { try query(text).lookup?.sources.count }
        #expect(try sources("src_aBc") == 1)
        #expect(try sources("source=src_1,src_2") == 2)
        #expect(try sources("\"Jane Doe\"") == 0)
        #expect(try sources("order=A77") == 0)
        #expect(try sources("src_1 order=A77") == 0, "an entry is found at once")
        let source = try #require(try query("SRC_aBc").lookup?.sources.first)
        let names = ["shop/sources", "bank/http", "ep_1"].map { lane in
            source.key(in: LaneID(unchecked: lane)).map { "\($0.account) \($0.source)" }
        }
        #expect(names == ["shop SRC_aBc", "bank src_abc", nil], "in Stripe's ids case counts")
    }

    @Test("a watch has an entry for its source only where its name does not find it")
    func entries() throws {
        func count(_ source: String, _ kind: SourceKind, order: String? = nil) throws -> Int {
            let key = WatchKey(account: .main, source: SourceID(unchecked: source), kind: kind)
            let order = order.map(OrderID.init(unchecked:))
            return SearchTerm.terms(of: try NewWatch(key: key, order: order), keys: .standard).count
        }
        #expect(try count("src_aBc", .source) == 0)
        #expect(try count("inv-7", .http) == 0)
        #expect(try count("INV-7", .http) == 1)
        #expect(try count("src_aBc", .source, order: "A77") == 1)
    }

    @Test(
        "what people write is found as people type it",
        arguments: [
            ("O’Brien, Pat", "obrien pat"), ("O'BRIEN", "obrien"), ("Anna Müller", "anna muller"),
            ("Mu\u{308}ller", "muller"), ("Łódź Øre straße", "lodz ore strasse"),
            ("jane.doe@example.com", "jane.doe@example.com"), ("A-77.", "a-77"),
            ("„Doe“ (Jane)", "doe jane"), ("2026/0815", "2026/0815"), ("Жук", "жук"), ("?!", "?!"),
        ]
    )
    func folded(_ written: String, _ typed: String) {
        #expect(SearchText.folded(written) == typed)
        #expect(SearchText.has(SearchText.normal(written), typed))
    }

    @Test("entries of releases that did not fold are asked for too")
    func forms() throws {
        let old = SearchTerm(text: "müller")
        #expect(try query("Müller").lookup?.terms == [SearchTerm(text: "muller"), old])
        #expect(try query("Doe").lookup?.terms.count == 1)
    }

    @Test("an entry is made of the longest word of each value before a second one of any")
    func crowded() throws {
        let key = WatchKey(account: .main, source: SourceID(unchecked: "src_1"), kind: .source)
        let watch = try NewWatch(
            key: key,
            notify: [NotifyURL("mailto:jane@example.com")],
            metadata:
                #"{"order":"X9","customer":"Anna Maria Müller-Lüdenscheidt","email":"am@example.com"}"#
        )
        let terms = SearchTerm.terms(of: watch, keys: .standard)
        for word in ["x9", "muller-ludenscheidt", "am@example.com", "jane@example.com"] {
            #expect(terms.contains(SearchTerm(text: word)), "\(word)")
        }
        #expect(terms.count <= SearchTerm.countMax - 2)
    }

    @Test("keys of metadata that cannot be asked for are refused")
    func keys() throws {
        #expect(try SearchKeys(["order", "order", "invoice.no"]).names == ["order", "invoice.no"])
        #expect(throws: InvalidInput.self) { try SearchKeys(["two words"]) }
        #expect(throws: InvalidInput.self) { try SearchKeys((0..<9).map { "k\($0)" }) }
    }

    private func query(_ text: String) throws -> SearchQuery {
        try SearchQuery(text, keys: .standard, now: now)
    }
}
