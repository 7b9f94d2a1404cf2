import PollerIdentity
import Testing

@testable import PollerDeliveries

@Suite("Redaction of credentials")
struct RedactionTests {
    private func text(_ text: String, hiding values: String...) -> String {
        String(decoding: Redaction(values).text(Array(text.utf8)), as: UTF8.self)
    }

    private func json(_ text: String, hiding values: String...) -> String {
        String(decoding: Redaction(values).json(Array(text.utf8)), as: UTF8.self)
    }

    @Test("a value is redacted as sent, without its scheme, and in its JSON spellings")
    func forms() {
        let value = #"Bearer ab"c\d/e"#
        for echoed in [
            value, #"ab"c\d/e"#, #"Bearer ab\"c\\d\/e"#, #"ab\u0022c\u005Cd\u002fe"#,
        ] {
            #expect(
                text("you sent \(echoed)!", hiding: value) == "you sent (redacted)!",
                "\(echoed)"
            )
        }
        #expect(text("Basic dXNlcjpwYXNz", hiding: "Basic dXNlcjpwYXNz") == "(redacted)")
        #expect(text("token-1 and token-12", hiding: "token-1", "token-12").contains("2") == false)
    }

    @Test("a prefix of a value at the end of a truncated text is redacted")
    func cut() {
        #expect(text("you sent abcdefgh", hiding: "abcdefghijkl") == "you sent (redacted)")
        #expect(text("you sent abc", hiding: "abcdefghijkl") == "you sent abc")
    }

    @Test("other text stays unchanged, and values of a few letters are not redacted")
    func others() {
        #expect(text("no such account: 17", hiding: "17", "Bearer xyzzy") == "no such account: 17")
        #expect(text("anything") == "anything")
    }

    @Test("redacted JSON stays valid, because only its strings change")
    func withinJSON() {
        let object = #"{"n":12345678,"hdr":"Bearer 12345678","a\"b":"x\\","t":"12345678"}"#
        #expect(
            json(object, hiding: "Bearer 12345678")
                == #"{"n":12345678,"hdr":"(redacted)","a\"b":"x\\","t":"(redacted)"}"#
        )
        #expect(json(#"{"a":"b","c":"d"}"#, hiding: #"b","c"#) == #"{"a":"b","c":"d"}"#)
        // Member names stay, because clients look values up by name.
        #expect(
            json(#"{"customer" : {"is":"customer"}}"#, hiding: "customer")
                == #"{"customer" : {"is":"(redacted)"}}"#
        )
    }

    @Test("an excerpt is truncated after the redaction, not within a value")
    func excerpts() {
        let secret = "secret-" + String(repeating: "x", count: 30)
        for place in [1000, 1010, 1017, 1023] {
            let body = String(repeating: "-", count: place) + secret
            let excerpt = Excerpt.text(Array(body.utf8), hiding: Redaction([secret]))
            #expect(!excerpt.contains("secr") && excerpt.utf8.count <= Excerpt.bytesMax)
        }
    }
}
