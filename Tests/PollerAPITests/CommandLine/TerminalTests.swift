import Foundation
import Testing

@testable import pollerctl

@Suite("Server text cannot control the terminal or mislead its reader")
struct TerminalTests {
    @Test("invisible and direction-changing characters are escaped")
    func clean() {
        #expect(Terminal.clean("a\u{1B}[31mb") == "a?[31mb")
        let turned = "10\u{202E}99\u{2066}\u{200B}€"
        #expect(Terminal.clean(turned) == #"10\u{202E}99\u{2066}\u{200B}€"#)
        #expect(Terminal.clean("one\u{2028}two") == #"one\u{2028}two"#)
        #expect(Terminal.clean("Zoë Grün 日本") == "Zoë Grün 日本")
    }

    @Test("escaped JSON is equivalent")
    func json() throws {
        let text = "10\u{202E}99\u{2066}\u{85}\u{7F}€ Zoë \u{E0001}"
        let sent = "{\"a\":\"\(text)\"}"
        let plain = Terminal.plain(json: sent)
        #expect(plain == #"{"a":"10\u202e99\u2066\u0085\u007f€ Zoë \udb40\udc01"}"#)
        let read = try JSONDecoder().decode([String: String].self, from: Data(plain.utf8))
        #expect(read == ["a": text])
    }

    @Test("JSON with line breaks is printed on one line")
    func oneLine() {
        let sent = "{\"source\":\"src_1\",\r\n \"object\":\n{\"source\":\"src_2\"}\n }\n"
        #expect(Terminal.line(of: sent) == #"{"source":"src_1","object":{"source":"src_2"}}"#)
    }
}
