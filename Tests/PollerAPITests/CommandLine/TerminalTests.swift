import Foundation
import Testing

@testable import pollerctl

@Suite("What comes from a server steers neither the terminal nor its reader")
struct TerminalTests {
    @Test("what nobody sees or turns the line around stands as its escape")
    func clean() {
        #expect(Terminal.clean("a\u{1B}[31mb") == "a?[31mb")
        let turned = "10\u{202E}99\u{2066}\u{200B}€"
        #expect(Terminal.clean(turned) == #"10\u{202E}99\u{2066}\u{200B}€"#)
        #expect(Terminal.clean("one\u{2028}two") == #"one\u{2028}two"#)
        #expect(Terminal.clean("Zoë Grün 日本") == "Zoë Grün 日本")
    }

    @Test("JSON says the same in escapes")
    func json() throws {
        let text = "10\u{202E}99\u{2066}\u{85}\u{7F}€ Zoë \u{E0001}"
        let sent = "{\"a\":\"\(text)\"}"
        let plain = Terminal.plain(json: sent)
        #expect(plain == #"{"a":"10\u202e99\u2066\u0085\u007f€ Zoë \udb40\udc01"}"#)
        let read = try JSONDecoder().decode([String: String].self, from: Data(plain.utf8))
        #expect(read == ["a": text])
    }

    @Test("JSON that a server has sent with line ends is printed as one line")
    func oneLine() {
        let sent = "{\"source\":\"src_1\",\r\n \"object\":\n{\"source\":\"src_2\"}\n }\n"
        #expect(Terminal.line(of: sent) == #"{"source":"src_1","object":{"source":"src_2"}}"#)
    }
}
