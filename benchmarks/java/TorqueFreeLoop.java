import org.hipparchus.geometry.euclidean.threed.Rotation;
import org.hipparchus.geometry.euclidean.threed.Vector3D;
import org.orekit.attitudes.Attitude;
import org.orekit.attitudes.Inertia;
import org.orekit.attitudes.InertiaAxis;
import org.orekit.attitudes.TorqueFree;
import org.orekit.frames.Frame;
import org.orekit.frames.FramesFactory;
import org.orekit.time.AbsoluteDate;

/**
 * Orekit's TorqueFree at many times, with the loop inside the virtual machine: no call from Python is timed.
 *
 * <p>The dates are made beforehand, and the reference frame is the one of the initial attitude.
 */
public final class TorqueFreeLoop {

    private static final AbsoluteDate START = AbsoluteDate.ARBITRARY_EPOCH;
    private static final Frame FRAME = FramesFactory.getGCRF();

    private final TorqueFree provider;
    private final AbsoluteDate[] dates;

    /** A body with these principal moments, from the identity with these rates in body axes. */
    public TorqueFreeLoop(double[] moments, double[] omega, double[] times) {
        Vector3D spin = new Vector3D(omega);
        Attitude initial = new Attitude(START, FRAME, Rotation.IDENTITY, spin, Vector3D.ZERO);
        Inertia inertia = new Inertia(new InertiaAxis(moments[0], Vector3D.PLUS_I),
                                      new InertiaAxis(moments[1], Vector3D.PLUS_J),
                                      new InertiaAxis(moments[2], Vector3D.PLUS_K));
        provider = new TorqueFree(initial, inertia);
        dates = new AbsoluteDate[times.length];
        for (int i = 0; i < times.length; i++) {
            dates[i] = START.shiftedBy(times[i]);
        }
    }

    /** Every attitude and rate, summed up so that none of the work can be left out. */
    public double sum() {
        double sum = 0;
        for (AbsoluteDate date : dates) {
            Attitude attitude = provider.getAttitude(null, date, FRAME);
            Rotation r = attitude.getRotation();
            Vector3D w = attitude.getSpin();
            sum += r.getQ0() + r.getQ1() + r.getQ2() + r.getQ3() + w.getX() + w.getY() + w.getZ();
        }
        return sum;
    }

    /** Seven numbers a time: the quaternion from space to body as Orekit has it, scalar first, and the rate. */
    public double[] states() {
        double[] out = new double[7 * dates.length];
        for (int i = 0; i < dates.length; i++) {
            Attitude attitude = provider.getAttitude(null, dates[i], FRAME);
            Rotation r = attitude.getRotation();
            Vector3D w = attitude.getSpin();
            double[] row = {r.getQ0(), r.getQ1(), r.getQ2(), r.getQ3(), w.getX(), w.getY(), w.getZ()};
            System.arraycopy(row, 0, out, 7 * i, 7);
        }
        return out;
    }
}
