import JSONText
import PollerTesting
import PollerWatches
import Testing

/// Compares the redaction of recorded objects with the algorithm that it replaced, which compared characters and copied
/// byte by byte.
@Suite struct ObjectSecretsTests {
    @Test("random objects are redacted as before", arguments: 0..<40)
    func random(seed: Int) {
        var texts = SecretTexts(seed: UInt64(seed))
        for _ in 0..<250 {
            let text = texts.object()
            let object = RawJSON(unchecked: text)
            let shown = object.withoutSecrets().description
            #expect(shown == FormerRedaction.withoutSecrets(text), "\(text)")
            let open = object.withoutClientSecrets().description
            #expect(open == FormerRedaction.withoutClientSecrets(text), "\(text)")
        }
    }

    @Test("damaged objects are redacted as before", arguments: 0..<40)
    func damaged(seed: Int) {
        var texts = SecretTexts(seed: UInt64(seed))
        for _ in 0..<250 {
            let text = texts.damagedObject()
            let shown = RawJSON(unchecked: text).withoutSecrets().description
            #expect(shown == FormerRedaction.withoutSecrets(text), "\(text)")
        }
    }

    @Test(
        "hostile objects are redacted as before",
        arguments: [
            #"{}"#, #"[]"#, #""client_secret=""#, #"{"client_secret":""}"#,
            #"{"client_secret":null}"#,
            #"{"client_secret":"12345678","client_secret":"87654321","a":"1234567887654321"}"#,
            #"{"client\u005fsecret":"12345678","a":"x12345678y"}"#,
            #"{"\u0063lient_secret":"12345678" , "b":1}"#,
            #"{"a":"client_secret=client_secret=x&client_secret=y#z\"q"}"#,
            #"{"a":"client_secret="}"#, #"{"a":"client_secret=\u0022rest"}"#,
            #"{"client_secret":"t_secret=","a":"client_secret=abc"}"#,
            #"{"client_secret":"redacted","a":"redactedredacted"}"#,
            #"{"client_secret":"aaaaaaaa","a":"aaaaaaaaaaaaaaaaaaaaaaa"}"#,
            #"{"client_secret":"1234567","a":"1234567"}"#,
            #"{"client_secret":"\ud800234567","a":"\ud800234567"}"#,
            #"{"client_secret":"caf\u00e9-123","a":"café-123"}"#,
            #"{"a":{"client_secret":"12345678"},"client_secret":"12345678"}"#,
            #"{"a":1,"client_secret":"12345678"}"#, #"{ "client_secret" : "12345678" , "a" : 1 }"#,
            #"{"source":{"client_secret":"12345678"},"source":{"client_secret":"b"}}"#,
            #"{"source":"client_secret=x","client_secret":"12345678"}"#,
            #"{"source":{"type":"a","a":{"refund_iban":"1","b":2}},"refund_iban":"3"}"#,
            #"{"type":"a","a":{"refund_routing_number":"1"}}"#,
            #"{"object":"source","source" : {"client_secret" :"12345678"},"a":"12345678"}"#,
            #"{"object":"source","client_secret":"12345678","a":"client_secret"}"#,
            #"{"a":"client_secret","b":"?client_secret=x"}"#, #"{"a":"refund_x","refund_":{}}"#,
            #"{"type":"refund_","refund_":{"refund_account_":1,"refund_attributes_status":2}}"#,
            #"{"type":"a","a":{"refund\u005fiban":"1"}}"#,
            #"{"type":"a","a":{"refund\u005fiban":"1","refund_account_x":"2","refund_i":"3"}}"#,
            #"{"type":"refund_iban","refund_iban":{"refund_iban":{"refund_iban":1}}}"#,
            #"{"type":"a","a":[{"refund_iban":"1"}]}"#, #"{"type":1,"1":{"refund_iban":"1"}}"#,
        ]
    )
    func hostile(text: String) {
        let shown = RawJSON(unchecked: text).withoutSecrets().description
        #expect(shown == FormerRedaction.withoutSecrets(text))
    }

    @Test("a secret that a combining character follows is redacted, too")
    func combining() {
        let text = "{\"client_secret\":\"12345678\",\"a\":\"x12345678\u{301}\"}"
        #expect(FormerRedaction.withoutSecrets(text) == "{\"a\":\"x12345678\u{301}\"}")
        let shown = RawJSON(unchecked: text).withoutSecrets()
        #expect(shown == RawJSON(unchecked: "{\"a\":\"xredacted\u{301}\"}"))
    }
}

/// Random objects made of the parts that matter to a redaction.
private struct SecretTexts {
    private static let secrets = [
        "src_client_secret_4f", "12345678", "1234567", "aaaaaaaa", "client_secret=", "redacted",
        "t_secret=", #"a\u0062cdefgh"#, #"quo\"te123"#, "Jürgen Müller", "😀😀😀", "",
    ]
    private static let names = [
        "client_secret", #"client\u005fsecret"#, "source", "type", "refund_iban", "id", "url",
        "refund_account_number", "refund_account_", "refund_routing_number", "multibanco",
        #"refund\u005fiban"#, "secret", "ä", "",
    ]
    private static let pieces = [
        "client_secret=", "?client_secret", "=", "&", "#", #"\""#, #"\\"#, #"\/"#, #"\u003d"#,
        "redacted", "refund_iban", "refund_account_x", "https://bank.example/", "é", "日本", "a",
        "client_", "secret=", "12345678",
    ]

    private var generator: SeededGenerator

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
    }

    /// Returns a valid object.
    mutating func object() -> String {
        object(depth: 0, secret: pick(Self.secrets))
    }

    /// Returns an object of which a part was cut off, removed or replaced.
    mutating func damagedObject() -> String {
        var bytes = Array(object().utf8)
        for _ in 0..<Int.random(in: 1...3, using: &generator) where !bytes.isEmpty {
            let at = Int.random(in: bytes.indices, using: &generator)
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: bytes.removeSubrange(at...)
            case 1: bytes.remove(at: at)
            case 2: bytes.insert(pick(Array(#"{}[]",:\= "#.utf8)), at: at)
            default: bytes[at] = pick(Array(#"{}[]",:\=x"#.utf8))
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private mutating func object(depth: Int, secret: String) -> String {
        let members = (0..<Int.random(in: 0...5, using: &generator)).map { _ in
            let name = pick(Self.names)
            return "\(space())\"\(name)\"\(space()):\(space())"
                + "\(value(name, depth: depth, secret: secret))\(space())"
        }
        return "{\(members.joined(separator: ","))\(space())}"
    }

    private mutating func value(_ name: String, depth: Int, secret: String) -> String {
        switch Int.random(in: 0..<8, using: &generator) {
        case 0...1 where depth < 3: return object(depth: depth + 1, secret: secret)
        case 2 where depth < 3: return "[\(object(depth: depth + 1, secret: secret))]"
        case 3: return pick(["null", "true", "12345678", "-1.5e3", "[]"])
        case 4: return "\"\(pick(Self.names))\""
        case 5: return "\"\(secret)\""
        default:
            let count = Int.random(in: 0...5, using: &generator)
            let parts = (0..<count).map { _ in
                Bool.random(using: &generator) ? secret : pick(Self.pieces)
            }
            return "\"\(parts.joined())\""
        }
    }

    private mutating func space() -> String {
        Int.random(in: 0..<6, using: &generator) == 0 ? " " : ""
    }

    private mutating func pick<Element>(_ choices: [Element]) -> Element {
        // Safe: no list of this suite is empty.
        choices[Int.random(in: choices.indices, using: &generator)]
    }
}

/// The former algorithm, as the reference.
private enum FormerRedaction {
    static func withoutSecrets(_ object: String) -> String {
        let json = RawJSON(unchecked: object)
        guard let source = json.member("source"), source.kind == .object else {
            return withoutClientSecrets(withoutRefundAccount(object))
        }
        let shown = withoutClientSecrets(withoutRefundAccount(source.description))
        return withoutClientSecrets(
            json.replacing(source, with: RawJSON(unchecked: shown)).description
        )
    }

    private static func withoutRefundAccount(_ object: String) -> String {
        let json = RawJSON(unchecked: object)
        // Unlike the former algorithm, a lone routing number and escaped names are noticed.
        let marks = ["refund_iban", "refund_account_", "refund_routing_number", "\\"]
        guard marks.contains(where: { object.contains($0) }),
            let type = json.member("type")?.string, let details = json.member(type),
            details.kind == .object
        else { return object }
        let kept = removing(from: details.description) { name in
            ["refund_iban", "refund_account_", "refund_routing_number"]
                .contains(where: name.hasPrefix)
        }
        return json.replacing(details, with: RawJSON(unchecked: kept)).description
    }

    static func withoutClientSecrets(_ object: String) -> String {
        let name = Array("client_secret=".utf8)
        var text = removing(from: object) { $0 == "client_secret" }
        let own = RawJSON(unchecked: object).member("client_secret")?.string
        if let own, own.utf8.count >= 8, text.contains(own) {
            text = text.replacing(own, with: "redacted")
        }
        let bytes = Array(text.utf8)
        var kept: [UInt8] = []
        var position = 0
        while position < bytes.count {
            kept.append(bytes[position])
            position += 1
            if kept.last == UInt8(ascii: "="), kept.suffix(name.count).elementsEqual(name) {
                kept += Array("redacted".utf8)
                while position < bytes.count, !#""&#\"#.utf8.contains(bytes[position]) {
                    position += 1
                }
            }
        }
        return String(decoding: kept, as: UTF8.self)
    }

    /// Returns an object without the direct members of matching names.
    private static func removing(from object: String, _ isUnwanted: (String) -> Bool) -> String {
        let bytes = Array(object.utf8)
        var scanner = JSONScanner(bytes, depthMax: 4 * JSONScanner.depthMax)
        var kept: [UInt8] = []
        var (isFirst, hasLost, rest) = (true, false, 0)
        try? {
            () throws(JSONError) in
            try scanner.enterObject()
            var start = scanner.position
            while let name = try scanner.nextName() {
                try scanner.skip()
                _ = scanner.peek()
                let place = start..<scanner.position
                if isFirst, kept.isEmpty { kept += bytes[rest..<place.lowerBound] }
                rest = place.upperBound
                if isUnwanted(scanner.text(name) ?? "") {
                    hasLost = true
                } else {
                    let hasComma = bytes[place.lowerBound] == UInt8(ascii: ",")
                    kept += bytes[place].dropFirst(isFirst && hasComma ? 1 : 0)
                    isFirst = false
                }
                start = scanner.position
            }
        }()
        return hasLost ? String(decoding: kept + bytes[rest...], as: UTF8.self) : object
    }
}
