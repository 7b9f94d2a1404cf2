import Crypto
import Foundation
import PollerIdentity
import PollerPayments
import Testing

@testable import PollerAPI

@Suite("QR codes")
struct QRCodeTests {
    /// Codes drawn by another implementation from the same texts.
    ///
    /// They are from `qrcode.QRCode` of qrcode 8.2 with `ERROR_CORRECT_M`, `MODE_8BIT_BYTE` and the mask. Each digest
    /// is the SHA-256 of the rows of zeros and ones.
    static let drawn: [(text: String, mask: Int, size: Int, digest: String)] = [
        ("A", 1, 21, "b13656d3f3aedff53591fe62dc8bd489767bcb37e25d5cfe0aaa872da074f397"),
        (
            "BCD\n002\n1\nSCT\nCOBADEFFXXX\nShop GmbH\nDE89370400440532013000\nEUR10.99\n\n\nF-7",
            2,
            37, "988d73002f54ff5db42bbf5fb313653cbe5a3398e63f18b4e53a713b24303b5e"
        ),
        (
            "Käserei Müller & Söhne ÄÖÜ", 3, 29,
            "c9b350ad1248bdbfb96f62d11e26e7b671e8de334404605ef738c56492b36bc9"
        ),
        (
            String(repeating: "x", count: 14), 4, 21,
            "ffbb924ee81ae12470d5ed9e04d7a0dabbe4f1ebdc72b39f59e069d63efc3e3f"
        ),
        (
            String(repeating: "x", count: 15), 5, 25,
            "8692b1ecf91034366e32a1d7201111bc5bd1f1f55ebff2b37a9a02cb8a12b843"
        ),
        (
            String(repeating: "x", count: 200), 6, 57,
            "b719f9e8d1b0dd894bbf6bb0231299737908d2ef5e6b024a9626f9a081530778"
        ),
        (
            String(repeating: "0123456789", count: 30), 7, 69,
            "294d1bfb339989f789f1f028cd70d373e97ce061b6350aa8a99bca6a9fb7926c"
        ),
        (
            String(repeating: "y", count: 400), 0, 77,
            "153c281631179e8fa4ba91a9ea8faf88cf3ffc610692af325ff0beaabc17de21"
        ),
        (
            String(repeating: "z", count: 666), 1, 97,
            "3f9d737080f19d058516d2b204378a413424705bb3c82aa687f73f9de77d56a5"
        ),
    ]

    @Test("the squares match those of another implementation", arguments: 0..<9)
    func squares(index: Int) throws {
        let wanted = Self.drawn[index]
        let code = try #require(QRCode(wanted.text, mask: wanted.mask))
        #expect(code.size == wanted.size)
        let bits = (0..<code.size).map { y in
            (0..<code.size).map { x in code[x, y] ? "1" : "0" }.joined()
        }.joined()
        let digest = SHA256.hash(data: Data(bits.utf8)).map { String(format: "%02x", $0) }.joined()
        #expect(digest == wanted.digest)
    }

    @Test("a text of more than 666 bytes has no code")
    func limits() {
        #expect(QRCode.bytesMax == 666)
        #expect(QRCode(String(repeating: "z", count: 667), mask: 0) == nil)
        #expect(QRCode("", mask: 0)?.size == 21)
    }

    @Test("the SVG has a quiet zone, and no markup from its label")
    func picture() throws {
        let svg = try #require(QRCode("A")).svg(label: "\"><script>")
        #expect(svg.contains(#"viewBox="0 0 29 29""#) && !svg.contains("<script>"))
    }

    @Test("a euro transfer to a named payee has an EPC code, and other transfers have none")
    func transfer() {
        var account = NextStep.BankAccount(scheme: "iban")
        account.iban = "DE89 3704 0044 0532 0130 00"
        account.bic = "COBADEFFXXX"
        account.holder = "Shop GmbH"
        var transfer = NextStep.Transfer()
        transfer.accounts = [account]
        transfer.reference = "F-7"
        transfer.amountMissing = 1009
        transfer.currency = "eur"
        #expect(
            NextStep.transfer(transfer).codeText
                == "BCD\n002\n1\nSCT\nCOBADEFFXXX\nShop GmbH\nDE89370400440532013000\nEUR10.09\n\n\nF-7"
        )
        transfer.reference = nil
        transfer.amountMissing = nil
        #expect(
            transfer.creditTransferText
                == "BCD\n002\n1\nSCT\nCOBADEFFXXX\nShop GmbH\nDE89370400440532013000"
        )
        // A line break, another currency, a missing payee, and an amount of zero.
        var wrong = transfer
        wrong.reference = "F-7\nEUR9.99"
        #expect(wrong.creditTransferText == nil)
        wrong = transfer
        wrong.currency = "usd"
        #expect(wrong.creditTransferText == nil)
        wrong = transfer
        wrong.accounts[0].holder = nil
        #expect(wrong.creditTransferText == nil)
        wrong = transfer
        wrong.amountMissing = 0
        #expect(wrong.creditTransferText == nil)
        #expect(NextStep.none.codeText == nil)
    }
}
