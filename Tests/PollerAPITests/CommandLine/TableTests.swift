import Foundation
import PollerClient
import PollerWire
import Testing

@testable import pollerctl

@Suite("What pollerctl shows people")
struct TableTests {
    private func table(_ error: String = "-") -> Table {
        var table = Table("SOURCE", "STATE", "POLLS", "ERROR", optional: ["POLLS"])
        table.rows = [
            [.init("src_0123456789012345678901"), .init("open"), .init("7"), .init(error)],
            [.init("src_2"), .init("closed"), .init("9"), .init("-")],
        ]
        return table
    }

    @Test("columns go, then the sentence is cut, then a row is a few lines; ids are whole")
    func narrow() {
        let error = "the host's name does not resolve: Name or service not known"
        let wide = table(error).lines(forPeople: true, within: 200)
        #expect(wide[0].contains("POLLS") && wide[1].hasSuffix(error))
        let cut = table(error).lines(forPeople: true, within: 60)
        #expect(!cut[0].contains("POLLS") && cut[1].hasSuffix("…"))
        #expect(cut.allSatisfy { $0.count <= 60 })
        let lines = table(error).lines(forPeople: true, within: 40)
        #expect(
            lines == [
                "src_0123456789012345678901", "  state  open", "  polls  7",
                "  error  the host's name does not", "         resolve: Name or service not",
                "         known", "", "src_2", "  state  closed", "  polls  9",
            ]
        )
    }

    @Test("programs get every column, and nothing of a table without rows is shown")
    func programs() {
        let piped = table("a b").lines(forPeople: false, within: 20)
        #expect(piped == ["src_0123456789012345678901\topen\t7\ta b", "src_2\tclosed\t9\t-"])
        #expect(Table("A", "B").lines(forPeople: false) == [])
    }

    @Test(
        "how far away a time is",
        arguments: [
            (0, "now"), (-999, "now"), (999, "now"), (4_200, "in 4 s"), (-90_000, "90 s ago"),
            (600_000, "in 10 min"), (-7_200_000, "2 h ago"), (30 * 86_400_000, "in 30 d"),
        ] as [(Int64, String)]
    )
    func away(ms: Int64, shown: String) {
        let now = Date(timeIntervalSince1970: 1_800_000_000)
        let time = PollerWire.Time(ms: 1_800_000_000_000 + ms)
        #expect(time.away(from: now) == shown)
    }

    @Test("a line is parted between words, and cut without counting its colours")
    func lines() {
        #expect(Terminal.wrapped("one two three", within: 7) == ["one two", "three"])
        #expect(Terminal.wrapped("src_012345678901 x", within: 5) == ["src_012345678901", "x"])
        #expect(Terminal.wrapped("one two", within: nil) == ["one two"])
        let coloured = "\u{1B}[31mred\u{1B}[0m and more"
        #expect(Terminal.cut(coloured, to: 5) == "\u{1B}[31mred\u{1B}[0m a")
        #expect(Terminal.cut("short", to: 60) == "short")
    }
}
