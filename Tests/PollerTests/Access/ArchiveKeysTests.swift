import PollerOperations
import Testing

@Suite("Archive keys")
struct ArchiveKeysTests {
    private let line = Array("a line".utf8)
    private let root = [UInt8](0..<32)

    private func keys(_ master: String? = nil, root: [UInt8]? = nil) throws -> ArchiveKeys {
        ArchiveKeys(master: try master.map { try MasterKeys($0) } ?? .none, root: root ?? self.root)
    }

    @Test("a digest verifies only the bytes that were signed")
    func own() throws {
        let keys = try keys()
        let digest = keys.digest(of: line)
        #expect(keys.check(digest, of: line) == .own)
        #expect(try self.keys().check(digest, of: line) == .own)
        #expect(keys.check(digest, of: line + [0x20]) == .changed)
        #expect(keys.check(digest, of: []) == .changed)
        #expect(keys.check(nil, of: line) == .missing)
    }

    @Test("a truncated, extended or malformed digest does not verify")
    func malformed() throws {
        let keys = try keys()
        let digest = keys.digest(of: line)
        let parts = digest.split(separator: ".").map(String.init)
        for wrong in [
            "", ".", "..", "a1", parts[2], String(digest.dropLast()), digest + "A", digest + ".",
            "a2.\(parts[1]).\(parts[2])", "a1.\(parts[1]).",
            "a1.\(parts[1]).\(parts[2].dropLast(3))",
            "a1.\(parts[1]).!!!", String(repeating: "a", count: 1 << 20),
        ] {
            #expect(keys.check(wrong, of: line) == .changed, "\(wrong.prefix(99))")
        }
    }

    @Test("the key ID distinguishes a line of another cluster from a changed line")
    func otherCluster() throws {
        let other = try keys(root: Array(32..<64))
        let digest = other.digest(of: line)
        guard case .unknownKey(let id) = try keys().check(digest, of: line) else {
            return fail("another cluster's key is known")
        }
        #expect(digest.contains(id) && id.count == 8)
    }

    @Test("the first master key signs, and every master key verifies, with any store")
    func masterKeys() throws {
        let (old, new) = (MasterKeysTests.one, MasterKeysTests.two)
        let digest = try keys(old).digest(of: line)
        #expect(try keys(old, root: Array(32..<64)).check(digest, of: line) == .own)
        #expect(try keys("\(new),\(old)").check(digest, of: line) == .own)
        #expect(try keys("\(new),\(old)").digest(of: line) == keys(new).digest(of: line))
        guard case .unknownKey = try keys(new).check(digest, of: line) else {
            return fail("a master key that is gone verifies")
        }
    }

    @Test("an archive from before the first master key verifies with the root of its store")
    func beforeMasterKey() throws {
        let digest = try keys().digest(of: line)
        #expect(try keys(MasterKeysTests.one).check(digest, of: line) == .own)
        guard
            case .unknownKey = try keys(MasterKeysTests.one, root: Array(32..<64))
                .check(digest, of: line)
        else { return fail("another store's root verifies") }
    }

    @Test("the digest of a text never changes, so old archives verify")
    func golden() throws {
        let keys = try keys(MasterKeysTests.one)
        #expect(keys.digest(of: line) == "a1.sQtVg8-W.Md4me8d2AWjIGCZpn5ARn4Pu1cx2jwDTY-nqdJ24pCM")
    }
}
