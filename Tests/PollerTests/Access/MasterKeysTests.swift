import PollerIdentity
import PollerOperations
import PollerTesting
import Testing

@Suite("Master keys")
struct MasterKeysTests {
    static let one = "00112233445566778899aabbccddeeff0123456789abcdeffedcba9876543210"
    static let two = "ffeeddccbbaa998877665544332211000123456789abcdeffedcba9876543210"

    private let location = SealedLocation(.endpointSecret, "ep_1", of: .main)

    @Test("a sealed value opens only at its location and does not contain the secret")
    func places() throws {
        let keys = try MasterKeys(Self.one)
        let sealed = keys.seal("whsec_canary", at: location)
        #expect(sealed.hasPrefix("s1:\(keys.ids[0])") && !sealed.contains("canary"))
        #expect(try keys.open(sealed, at: location) == "whsec_canary")
        #expect(keys.seal("whsec_canary", at: location) != sealed)
        for other in [
            SealedLocation(.endpointSecret, "ep_2", of: .main),
            SealedLocation(.endpointHeader, "ep_1", of: .main),
            SealedLocation(.endpointSecret, "ep_1", of: try AccountID("acme")),
            SealedLocation(root: "ep_1"),
        ] {
            #expect(throws: SealError.unreadable(other)) { try keys.open(sealed, at: other) }
        }
        let changed = sealed.dropLast(2) + (sealed.hasSuffix("AA") ? "BB" : "AA")
        #expect(throws: SealError.unreadable(location)) {
            try keys.open(String(changed), at: location)
        }
        #expect(throws: SealError.unreadable(location)) { try keys.open("s1:!", at: location) }
        #expect(throws: SealError.self) { try keys.open("s1:", at: location) }
    }

    @Test("the first key seals, every key opens, and a missing key is named in the error")
    func several() throws {
        let old = try MasterKeys(Self.one)
        let both = try MasterKeys("\(Self.two),\n\(Self.one)")
        let sealed = old.seal("secret", at: location)
        #expect(try both.open(sealed, at: location) == "secret")
        #expect(!both.isCurrent(sealed) && old.isCurrent(sealed))
        let sealedAgain = both.seal("secret", at: location)
        #expect(both.isCurrent(sealedAgain) && sealedAgain.hasPrefix("s1:\(both.ids[0])"))
        #expect(throws: SealError.unknownKey(both.ids[0], location)) {
            try old.open(sealedAgain, at: location)
        }
        #expect(throws: SealError.unknownKey(old.ids[0], location)) {
            try MasterKeys.none.open(sealed, at: location)
        }
    }

    @Test("values stored unencrypted are read, even if they look sealed")
    func clear() throws {
        let keys = try MasterKeys(Self.one)
        #expect(try keys.open("whsec_1", at: location) == "whsec_1" && !keys.isCurrent("whsec_1"))
        for text in ["plain", "s1:header", "s0:header", ""] {
            let stored = MasterKeys.none.seal(text, at: location)
            #expect(try MasterKeys.none.open(stored, at: location) == text)
            #expect(try keys.open(stored, at: location) == text)
            #expect(MasterKeys.none.isCurrent(stored) && !keys.isCurrent(stored))
        }
        #expect(MasterKeys.none.seal("plain", at: location) == "plain")
    }

    @Test("a sealed secret has at most 64 bytes, the limit for compact hashes in Redis")
    func bytes() throws {
        let keys = try MasterKeys(Self.one)
        // The longest secret of Stripe: that of a SetupIntent, with its letter.
        let packed = Array(String(repeating: "x", count: 32).utf8)
        let sealed = keys.seal(bytes: packed, at: location)
        #expect(sealed.count == 64 && sealed.first == 1)
        #expect(try keys.open(bytes: sealed, at: location) == packed)
        #expect(keys.isCurrent(bytes: sealed) && !keys.isCurrent(bytes: packed))
        #expect(try keys.open(bytes: packed, at: location) == packed)
        #expect(MasterKeys.none.seal(bytes: packed, at: location) == packed)
        #expect(throws: SealError.self) { try MasterKeys.none.open(bytes: sealed, at: location) }
    }

    @Test(
        "an invalid key is rejected, and the error does not contain it",
        arguments: [
            "", " , ", "canary", String(one.dropLast()), one + "0", one + ",canary",
            one + "," + one,
            String(repeating: "00", count: 32), "\(String(repeating: "ab", count: 32))",
        ]
    )
    func refused(text: String) {
        let error = #expect(throws: InvalidInput.self) { try MasterKeys(text) }
        #expect(error.map { !"\($0)".contains("canary") && !"\($0)".contains("0011") } == true)
        #expect(error.map { "\($0)".contains("openssl rand -hex 32") } == true)
    }

    @Test("hex and base64 spellings give the same key, and a description never contains the key")
    func spellings() throws {
        let base64 = "ABEiM0RVZneImaq7zN3u/wEjRWeJq83v/ty6mHZUMhA="
        let keys = try MasterKeys(Self.one)
        #expect(try MasterKeys(base64) == keys)
        #expect(try MasterKeys(Self.one.uppercased()) == keys)
        #expect(try MasterKeys("ABEiM0RVZneImaq7zN3u_wEjRWeJq83v_ty6mHZUMhA") == keys)
        #expect("\(keys)" == "master keys \(keys.ids[0])" && !"\(keys)".contains("0011"))
        #expect("\(MasterKeys.none)" == "no master key")
    }
}
