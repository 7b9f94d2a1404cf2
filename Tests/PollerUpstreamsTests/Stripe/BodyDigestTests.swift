import Testing

@testable import PollerUpstreams

@Suite("Fingerprints of responses")
struct BodyDigestTests {
    private let letters = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")

    @Test("a fingerprint has six characters for any length and is the same each time")
    func shape() {
        for count in 0..<40 {
            let bytes = (0..<count).map { UInt8($0) }
            let text = BodyDigest.text(of: bytes)
            #expect(text.count == 6 && text.allSatisfy(letters.contains))
            #expect(text == BodyDigest.text(of: bytes))
        }
    }

    @Test("every change of one bit changes the fingerprint")
    func bits() {
        for count in [1, 7, 8, 9, 64, 1003] {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            var seen: Set = [BodyDigest.text(of: bytes)]
            for index in bytes.indices {
                for bit in 0..<8 {
                    var changed = bytes
                    changed[index] ^= 1 << bit
                    seen.insert(BodyDigest.text(of: changed))
                }
            }
            #expect(seen.count == count * 8 + 1)
        }
    }
}
