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
}
