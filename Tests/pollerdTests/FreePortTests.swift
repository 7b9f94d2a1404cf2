import ChildPrograms
import Testing

@Suite("Free ports")
struct FreePortTests {
    @Test("no port is returned twice, though the kernel assigns released ones again")
    func distinct() throws {
        let ports = try (0..<2000).map { _ in try FreePort.find() }
        #expect(Set(ports).count == 2000)
    }
}
